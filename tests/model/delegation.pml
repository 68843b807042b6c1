/* A parent asks a sub-agent: child row and mark are one commit, the parent waits without a thread, the child's end wakes
   it (rulings 5, 11, 32 and 39). Processes die or stall between any two commits, with the parent, the child or both.

   Claimed: no second child; the child's write at most once; a loss counted once; a child that is lost too often fails, and
   its parent is told and ends well; and no parent sleeps after its child has ended: when nothing can move any more, both
   have ended. -DWITHOUT_<NAME> takes out the guard of that name. Locks are taken in the order parent, child. */
#define MOST_LOSSES 1               /* two in the code; one is enough here */
#ifndef STALLS                      /* claims from a living process, of either run */
#define STALLS 2
#endif
#define FREE   0
#define NOBODY 9
#define PARENT 0
#define CHILD  1

mtype = { absent, queued, running, waiting, answered, failed };       /* a head */
mtype = { unmarked, asked, told };                                    /* the parent's call */
mtype = { unsent, sending, settled };                                 /* the child's write */

mtype status[2], call = unmarked, child_write = unsent;
byte attempt[2], losses[2], holder[2] = NOBODY, locked_by[2] = FREE, counted[2];
byte wakes, children, effects, stalls;                                /* `wakes`: on the parent's head */
bool alive[2] = true, was_ended[2];

#define has_ended(r)    (status[r] == answered || status[r] == failed)

/* Ruling 5: every write of an attempt matches (run, attempt, running). */
#ifdef WITHOUT_FENCE
#define mine(r, a)      true
#else
#define mine(r, a)      (status[r] == running && attempt[r] == (a))
#endif
/* CR-13, sql/claim.sql liyagent_claim: compare and set. */
#ifdef WITHOUT_COMPARE
#define still_lost(r)   true
#else
#define still_lost(r)   (status[r] == running && attempt[r] == seen)
#endif
/* Ruling 39: going to `waiting` is a CASE on the head's own columns; a wake counts whatever the head's status is. */
#ifdef WITHOUT_CASE
#define may_sleep       true
#else
#define may_sleep       (wakes == my_wakes)
#endif
#ifdef WITHOUT_WAKES_ALWAYS
#define adds_wake       (status[PARENT] == waiting -> 1 : 0)
#else
#define adds_wake       1
#endif
/* Ruling 32, runs_one_child_per_delegation: unique by (correlation id, delegation key). */
#if defined(WITHOUT_UNIQUE) || defined(WITHOUT_KEY)
#define is_there        false
#else
#define is_there        (children > 0)
#endif

inline start_child() {
  if :: is_there -> skip
     :: else -> children++; assert(children <= 1); status[CHILD] = queued fi
}
inline wake() { wakes = wakes + adds_wake; status[PARENT] = (status[PARENT] == waiting -> queued : status[PARENT]) }
inline take(r) {
  assert(!was_ended[r]);
  status[r] = running; holder[r] = me; attempt[r]++; my_attempt = attempt[r]
}

proctype Parent(byte me) {
  byte my_attempt, my_wakes; mtype my_view;
idle:
  atomic { (alive[me] && status[PARENT] == queued && locked_by[PARENT] == FREE) -> take(PARENT) }
#ifdef WITHOUT_WAKES_BEFORE_LOOK
  atomic { alive[me] -> my_view = status[CHILD] }        /* the child is looked at, and only then `wakes` */
#endif
  atomic { alive[me];
    if :: mine(PARENT, my_attempt) -> my_wakes = wakes :: else -> goto lost fi;
    if :: call == told -> goto finish
#ifndef WITHOUT_KEY
       :: call == asked -> goto ask                      /* runs/in_doubt.py: asked by its delegation key */
#else
       :: call == asked -> goto delegate                 /* a fresh key for each attempt */
#endif
       :: call == unmarked -> goto delegate fi }
delegate:                           /* sql/delegate.sql: child, mark and sleep, one commit */
#ifdef WITHOUT_ONE_START
  atomic { (alive[me] && locked_by[PARENT] == FREE) -> if :: mine(PARENT, my_attempt) -> call = asked :: else -> goto lost fi }
#endif
  atomic { (alive[me] && locked_by[PARENT] == FREE) ->
    if :: mine(PARENT, my_attempt) -> start_child(); call = asked
       :: else -> goto lost fi;
#ifdef WITHOUT_SLEEP_IN_START
    my_wakes = wakes;               /* asked again after a lost answer, it tells the wakes of now */
    if :: goto sleep :: goto delegate fi }
#else                               /* asked again, it finds the same attempt asleep or awake */
    status[PARENT] = waiting; holder[PARENT] = NOBODY; goto lost }
#endif
ask:
#ifndef WITHOUT_WAKES_BEFORE_LOOK
  atomic { alive[me] -> my_view = status[CHILD] }
#endif
  atomic { alive[me] -> if :: my_view == answered || my_view == failed -> goto settle :: else fi }
sleep:
  atomic { (alive[me] && locked_by[PARENT] == FREE) ->
    if :: mine(PARENT, my_attempt) -> status[PARENT] = (may_sleep -> waiting : queued); holder[PARENT] = NOBODY :: else fi;
    goto lost }
settle:
  atomic { (alive[me] && locked_by[PARENT] == FREE) -> if :: mine(PARENT, my_attempt) -> call = told :: else -> goto lost fi }
finish:
  atomic { (alive[me] && locked_by[PARENT] == FREE) ->
    if :: status[PARENT] == running && attempt[PARENT] == my_attempt ->
          status[PARENT] = answered; holder[PARENT] = NOBODY; was_ended[PARENT] = true
       :: else fi;
lost:
    my_attempt = 0; my_wakes = 0; my_view = 0; goto idle }
}

proctype Child(byte me) {
  byte my_attempt; mtype end;
idle:
  atomic { (alive[me] && status[CHILD] == queued && locked_by[CHILD] == FREE) -> take(CHILD) }
  atomic { alive[me];
    if :: mine(CHILD, my_attempt) :: else -> goto lost fi;
    if :: losses[CHILD] > MOST_LOSSES -> end = failed; goto finish       /* ruling 11: unopened */
       :: else -> end = answered fi;
    if :: child_write == unsent
       :: child_write == settled -> goto finish
       :: child_write == sending ->                      /* in doubt, blind: told as unknown, not sent again */
#ifndef WITHOUT_SETTLEMENT
          goto settle
#endif
    fi }
#ifndef WITHOUT_MARK
  atomic { (alive[me] && locked_by[CHILD] == FREE) -> if :: mine(CHILD, my_attempt) -> child_write = sending :: else -> goto lost fi }
#endif
  atomic { alive[me] -> effects++; assert(effects <= 1) }
settle:
  atomic { (alive[me] && locked_by[CHILD] == FREE) -> if :: mine(CHILD, my_attempt) -> child_write = settled :: else -> goto lost fi }
finish:                             /* the parent's head first, then the child's: one commit */
#ifdef WITHOUT_LOCK_ORDER
  atomic { (alive[me] && locked_by[CHILD] == FREE) -> locked_by[CHILD] = me + 1 }
  if :: atomic { alive[me] && locked_by[PARENT] == FREE -> locked_by[PARENT] = me + 1 }
     :: atomic { !alive[me] -> locked_by[CHILD] = FREE; goto gone } fi;
#else
  atomic { (alive[me] && locked_by[PARENT] == FREE) -> locked_by[PARENT] = me + 1 }
  if :: atomic { alive[me] && locked_by[CHILD] == FREE -> locked_by[CHILD] = me + 1 }
     :: atomic { !alive[me] -> locked_by[PARENT] = FREE; goto gone } fi;
#endif
  atomic { locked_by[PARENT] = FREE; locked_by[CHILD] = FREE;
    if :: !alive[me] -> goto gone                        /* rolled back */
       :: alive[me] && mine(CHILD, my_attempt) ->
          status[CHILD] = end; holder[CHILD] = NOBODY; was_ended[CHILD] = true;
#ifdef WITHOUT_FAILURE_TOLD
          if :: end == answered -> wake() :: else fi
#elif !defined(WITHOUT_ONE_END)
          wake()
#endif
       :: else -> goto lost fi }
#ifdef WITHOUT_ONE_END
  atomic { (alive[me] && locked_by[PARENT] == FREE) -> wake() }
#endif
lost:
  atomic { my_attempt = 0; end = 0; goto idle }
gone:
  skip
}

/* From a dead process always, from a living one that only stalls a few times (in_flight.pml has the leases). */
proctype Sweep(byte run_) {
  byte seen;
look:
  atomic { (status[run_] == running && (!alive[holder[run_]] || stalls < STALLS)) ->
    seen = attempt[run_]; stalls = (alive[holder[run_]] -> stalls + 1 : stalls) }
  atomic { locked_by[run_] == FREE ->
    if :: still_lost(run_) ->
          assert(!(counted[run_] & (1 << seen)));        /* one loss, counted once */
          counted[run_] = counted[run_] | (1 << seen);
          losses[run_]++; status[run_] = queued; holder[run_] = NOBODY
       :: else fi;
    seen = 0; goto look }
}

/* sql/claim.sql liyagent_hand_over: a process that ends gives back all it carries; heads in the order of their ids. */
proctype Drain() {
  if :: atomic { status[PARENT] == running && locked_by[PARENT] == FREE -> locked_by[PARENT] = 4 };
        atomic { locked_by[CHILD] == FREE ->
          locked_by[PARENT] = FREE;
          if :: status[PARENT] == running -> status[PARENT] = queued; holder[PARENT] = NOBODY :: else fi;
          if :: status[CHILD] == running -> status[CHILD] = queued; holder[CHILD] = NOBODY :: else fi }
     :: skip fi
}
/* Something else wakes the parent: liyagent_wake. */
proctype Signal() { if :: atomic { !has_ended(PARENT) && locked_by[PARENT] == FREE -> wake() } :: skip fi }
proctype Death() { if :: alive[0] = false :: alive[1] = false :: skip fi }

proctype Judge() {
  timeout -> assert(status[PARENT] == answered && has_ended(CHILD));
#ifdef WITNESS
  assert(status[CHILD] != failed)                        /* a child can be lost too often, and its parent ends well */
#endif
}

init { atomic {
  status[PARENT] = queued; status[CHILD] = absent;
  run Parent(0); run Parent(1); run Child(0); run Child(1); run Sweep(PARENT); run Sweep(CHILD);
#ifdef TWO_SWEEPS
  run Sweep(CHILD);
#endif
  
#ifdef DRAINS
  run Drain();
#endif
  run Signal(); run Death(); run Judge() } }
