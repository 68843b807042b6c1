/* A call held for a person: filed, decided, reserved, sent and settled, while processes die or stall between any two
   commits and several decide at once (rulings 9, 23 and 39).

   Claimed: one effect at the most for an approval, and none without one that stands; one decision; one request for a
   call; what is told as refused had no effect; and no lost wake-up: when nothing can move any more, the run has ended.

   -DWITHOUT_<NAME> takes out the guard of that name. A transaction is two locks and a commit: what it changes shows
   at the commit, as in READ COMMITTED. Locks are taken in the order head, approval. */
#define FREE   0
#define NOBODY 9

#ifndef KEYED                       /* whether the vendor dedupes by our key */
#define KEYED  0
#endif
#ifndef STALLS                      /* claims from a process that only stalls */
#define STALLS 1
#endif
#ifndef SECOND                      /* who decides beside the one who approves and the expiry */
#define SECOND rejected
#endif

mtype = { queued, running, waiting, ended };                          /* the head */
mtype = { unmarked, held, sending, done, refused, unknown };          /* the call's row: its intent, then its fate */
mtype = { none, pending, approved, rejected, expired, withdrawn, consumed };   /* the approval */

mtype status = queued, call = unmarked, approval = none;
byte attempt, wakes, losses, holder = NOBODY;
byte head_by = FREE, approval_by = FREE;                              /* who has the row's lock */
bool alive[2] = true, is_over, stood, was_ended;
byte effects, sent_by = NOBODY, decisions, filed;

/* Ruling 5: every write of an attempt matches (run, attempt, running). */
#ifdef WITHOUT_FENCE
#define mine(a)         true
#else
#define mine(a)         (status == running && attempt == (a))
#endif
/* Ruling 39: going to `waiting` is a CASE on the head's own columns, read under its lock. */
#if defined(WITHOUT_CASE)
#define may_sleep       true
#elif defined(WITHOUT_OWN_COLUMNS)
#define may_sleep       (my_view == pending)             /* a sub-select: it keeps the statement's old snapshot */
#else
#define may_sleep       (wakes == my_wakes)
#endif
/* Ruling 39: who decides adds to `wakes` whatever the head's status is. */
#ifdef WITHOUT_WAKES_ALWAYS
#define adds_wake       (status == waiting -> 1 : 0)
#else
#define adds_wake       1
#endif
/* Only a run that waits is queued by a wake. */
#ifdef WITHOUT_WAITING_ALONE
#define woken           queued
#else
#define woken           (status == waiting -> queued : status)
#endif
/* Ruling 23: decision, expiry and withdrawal are one conditional update each. */
#ifdef WITHOUT_CONDITION
#define is_pending      (my_view == pending)             /* read, then saved */
#else
#define is_pending      (approval == pending)
#endif
#ifdef WITHOUT_EXPIRY_AT_DECISION
#define in_time         true
#else
#define in_time         !is_over
#endif
/* Ruling 23: the reservation checks again what was read before it, expiry too. */
#if defined(WITHOUT_CHECK_AGAIN)
#define stands          true
#elif defined(WITHOUT_EXPIRY_AT_DISPATCH)
#define stands          (approval == approved)
#else
#define stands          (approval == approved && !is_over)
#endif
/* Rulings 9 and 23: the key is the approval's, so that each attempt sends with the same. */
#ifdef WITHOUT_APPROVALS_KEY
#define is_same_key     (sent_by == attempt)
#else
#define is_same_key     true
#endif

#ifdef WITHOUT_RESERVATION
#define is_consumed     true                             /* without it, it is enough that a person approved */
#else
#define is_consumed     (approval == consumed)
#endif

inline effect() {
  assert(stood && is_consumed);              /* no effect without an approval that stands */
  if :: KEYED && effects == 1 && is_same_key -> skip  /* the vendor knows the key */
     :: else -> effects++; sent_by = attempt fi;
  assert(effects <= 1)
}
inline unlock(who) {
  head_by = (head_by == who -> FREE : head_by); approval_by = (approval_by == who -> FREE : approval_by)
}

/* A thread of a process. An atomic block is one statement under the head's lock, or one sending. */
proctype Thread(byte me) {
  byte my_attempt, my_wakes; mtype my_view, found;
idle:
  atomic { (alive[me] && status == queued && head_by == FREE) ->
    assert(!was_ended);
    status = running; holder = me; attempt++; my_attempt = attempt }
#ifdef WITHOUT_WAKES_BEFORE_LOOK
  atomic { alive[me] -> my_view = approval }             /* the approval is looked at, and only then `wakes` */
#endif
  atomic { alive[me];
    if :: mine(my_attempt) -> my_wakes = wakes; found = call :: else -> goto lost fi;
    if :: found == unmarked -> goto file
       :: found == held -> goto look
       :: found == sending -> goto in_doubt
       :: else -> goto finish fi }
file:                               /* sql/approve.sql liyagent_hold: request, mark and sleep, one commit */
#ifdef WITHOUT_ONE_FILING
  atomic { alive[me] -> approval = pending; filed++; assert(filed <= 1) }
#endif
  atomic { (alive[me] && head_by == FREE) ->
    if :: mine(my_attempt) ->
          if :: call == held -> skip                     /* asked again: answered as the first time */
             :: else -> call = held; my_view = pending;
#ifndef WITHOUT_ONE_FILING
                approval = pending; filed++; assert(filed <= 1)
#endif
          fi
       :: else -> goto lost fi;
#ifdef WITHOUT_SLEEP_IN_FILING
    my_wakes = wakes;               /* asked again after a lost answer, it tells the wakes of now */
    if :: goto sleep :: goto file fi }
#else
    status = waiting; holder = NOBODY; goto lost }       /* asked again, it finds the same attempt asleep or awake */
#endif
look:
#ifndef WITHOUT_WAKES_BEFORE_LOOK
  atomic { alive[me] -> my_view = approval }
#endif
  atomic { alive[me];
    if :: my_view == pending -> goto sleep
       :: my_view == approved -> goto reserve
       :: else -> found = refused; goto settle fi }
sleep:                              /* liyagent_wait: woken, it found nothing decided */
#ifdef WITHOUT_OWN_COLUMNS
  atomic { alive[me] -> my_view = approval }             /* the statement's snapshot; its lock may have to wait */
#endif
  atomic { (alive[me] && head_by == FREE) ->
    if :: mine(my_attempt) -> status = (may_sleep -> waiting : queued); holder = NOBODY :: else fi;
    goto lost }
reserve:                            /* liyagent_reserve: `held` becomes `sending` and `approved` becomes `consumed`, one commit */
#ifdef WITHOUT_RESERVATION
  stood = true; goto send;
#endif
#ifdef WITHOUT_ONE_RESERVATION
  atomic { alive[me] && head_by == FREE -> if :: mine(my_attempt) -> call = sending; stood = true :: else -> goto lost fi }
#endif
  atomic { (alive[me] && head_by == FREE) -> if :: mine(my_attempt) -> head_by = me + 1 :: else -> goto lost fi }
  if :: atomic { alive[me] && approval_by == FREE -> approval_by = me + 1 }
     :: atomic { !alive[me] -> unlock(me + 1); goto gone } fi;
  atomic {
    if :: alive[me] && stands ->
          call = sending; stood = (approval == approved && !is_over); approval = consumed; unlock(me + 1)
       :: alive[me] && !stands ->   /* asked anew in the code; here it is the end of this call */
          found = refused; unlock(me + 1); goto settle
       :: !alive[me] -> unlock(me + 1); goto gone        /* its session ends: rolled back */
    fi }
send:
  atomic { alive[me] -> effect(); if :: found = done :: found = unknown fi }
  if :: atomic { alive[me] && found == unknown && KEYED -> effect(); found = done }   /* ruling 9: again, same key */
     :: atomic { alive[me] && !(found == unknown && KEYED) -> skip } fi;
  goto settle;
in_doubt:                           /* runs/in_doubt.py: what a lost attempt left as `sending` */
  atomic { alive[me];
#ifdef WITHOUT_SETTLEMENT
    goto send
#else
    if :: KEYED -> goto send :: else -> found = unknown fi
#endif
  }
settle:
  atomic { (alive[me] && head_by == FREE) ->
    if :: mine(my_attempt) ->
          call = found; assert(!(found == refused && effects > 0))    /* what is told as refused had no effect */
       :: else -> goto lost fi }
finish:
  atomic { (alive[me] && head_by == FREE) ->
    if :: status == running && attempt == my_attempt -> status = ended; holder = NOBODY; was_ended = true :: else fi;
lost:
    my_attempt = 0; my_wakes = 0; my_view = 0; found = 0; goto idle }
gone:
  skip
}

/* Whoever decides: the head first, then the approval, one commit. A person's request may be cut off at any point. */
proctype Decider(byte me; mtype verdict) {
#ifdef WITHOUT_CONDITION
  mtype my_view;
  atomic { (approval != none && (verdict != expired || is_over)) -> my_view = approval }
#else
  (approval != none && (verdict != expired || is_over));
#endif
#ifdef WITHOUT_LOCK_ORDER
  atomic { approval_by == FREE -> approval_by = me }
  atomic { head_by == FREE -> head_by = me }
#else
  atomic { head_by == FREE -> head_by = me }
  atomic { approval_by == FREE -> approval_by = me }
#endif
  atomic {
    if :: is_pending && (verdict == expired || in_time) ->
          assert(approval != consumed);
          approval = verdict; decisions++; assert(decisions <= 1);
          assert(!(verdict == approved && is_over));
#ifndef WITHOUT_ONE_DECISION
          wakes = wakes + adds_wake; status = woken
#endif
       :: verdict == withdrawn && approval == approved -> approval = withdrawn; wakes = wakes + adds_wake; status = woken
       :: verdict != expired -> goto over                /* cut off, or zero rows: rolled back */
       :: verdict == expired && !is_pending -> goto over
    fi;
    unlock(me) }
#ifdef WITHOUT_ONE_DECISION
  if :: atomic { head_by == FREE -> wakes = wakes + adds_wake; status = woken }
     :: skip fi;                    /* who decided dies before it wakes the run */
#endif
  goto out;
over:
  unlock(me);
out:
  skip
}

/* Claims as in in_flight.pml: from a dead process, and a few times from one that only stalls. */
proctype Sweep() {
  do :: atomic { (status == running && head_by == FREE && (!alive[holder] || losses < STALLS)) ->
       losses = (losses < 2 -> losses + 1 : losses); status = queued; holder = NOBODY } od
}
/* Something else wakes the run: liyagent_wake. */
proctype Signal() { if :: atomic { status != ended && head_by == FREE -> wakes++; status = woken } :: skip fi }
/* A person ends the run while it waits. */
proctype Stop()  { if :: atomic { status == waiting && head_by == FREE -> status = ended; was_ended = true } :: skip fi }
proctype Death() { if :: alive[0] = false :: alive[1] = false :: skip fi }
proctype Time()  { is_over = true }

proctype Judge() {
  timeout -> assert(status == ended);                    /* no lost wake-up, no deadlock */
#ifdef WITNESS
  assert(!(losses == 1 && effects == 1 && call == done && approval == consumed))
#endif
}

init { atomic {
  run Thread(0); run Thread(1); run Decider(3, approved); run Decider(4, SECOND); run Decider(5, expired);
  run Sweep(); run Signal(); run Stop(); run Death(); run Time(); run Judge() } }
