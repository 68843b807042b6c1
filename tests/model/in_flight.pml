/* One write of one run, from its mark to what is told of it, while its process may die or stall between any two lines.

   Claimed: the vendor sees one effect at the most; a loss is counted once; what has ended is not carried again; and no
   run stays where nobody carries it. Not in here: a vendor that acts long after it was sent to, and a pause between the
   look at the deadline and the system call (docs/not-promised.md).

   Each guard is a name below, with the ruling and the place it stands for; -DWITHOUT_<NAME> takes it out. */
#define LEASE    1                  /* ticks of the database's clock */
#ifndef LAST
#define LAST     3
#endif                  /* the tick at which the clock stops */
#define KEY_LIFE 2                  /* how long the vendor remembers a key */
#define MOST_LOSSES 1               /* two in the code; one is enough here */
#define NOBODY   9

mtype = { queued, running, ended };                      /* the head's status */
mtype = { unmarked, open, done, failed, unknown };       /* the call's row */
#define KEYED    1                  /* what the tool's contract says: one a variant */
#define READABLE 2
#define BLIND    3
#ifndef CONTRACT
#define CONTRACT READABLE
#endif

mtype status = queued, fate = unmarked;
byte attempt, sequence, losses, holder = NOBODY, settle_after, not_before;
byte deadline, marker = NOBODY, marked_at;               /* of the mark: its own deadline, who marked, when first */
byte now, renew_by = LEASE;                              /* of process 0; process 1 renews at each tick, until it dies */
bool alive[2] = true;
byte effects, first_effect_at;                           /* the vendor's ledger */
bool did_not, repeated, was_ended, not_found;
byte takes, counted;                                     /* of whoever looks on: takes whose loss was counted, a bit each */

#define lease_end(me)   ((me) == 0 -> renew_by : now + LEASE)
#define later(a, b) ((a) > (b) -> (a) : (b))

/* Ruling 5, sql/step.sql: every write matches (run, attempt, running) and the next sequence. */
#ifdef WITHOUT_FENCE
#define mine(a, s)      true
#else
#define mine(a, s)      (status == running && attempt == (a) && sequence == (s))
#endif
/* Ruling 4, sql/take.sql: every take raises the attempt. */
#ifdef WITHOUT_RAISE
#define raised          later(attempt, 1)
#else
#define raised          attempt + 1
#endif
/* CR-13, sql/claim.sql liyagent_claim: compare and set on what was seen lost. */
#ifdef WITHOUT_COMPARE
#define still_lost(h)   true
#else
#define still_lost(h)   (status == running && holder == (h))
#endif
/* Ruling 6, runs/scope.py mark_sending: asked right before the bytes; the mark's own deadline, not the holder's. */
#ifdef WITHOUT_DEADLINE
#define may_send(me, d) true
#elif defined(WITHOUT_OWN_DEADLINE)
#define may_send(me, d) (now < lease_end(me))
#else
#define may_send(me, d) (now < (d))
#endif
/* Ruling 6, runs/attempt.py _wait_until_settled: a read-back waits until no earlier attempt can send. */
#ifdef WITHOUT_WAIT
#define settled         true
#else
#define settled         (now >= settle_after)
#endif
/* Ruling 4, sql/claim.sql: the greatest of what stood there and of the open mark's deadline. */
#define from_mark(h)    (fate == open && marker != (h) -> deadline : 0)
#if defined(WITHOUT_GREATEST) && defined(WITHOUT_PROVEN_ALONE)
#define waits(h)        ((h) != NOBODY -> 0 : from_mark(NOBODY))
#elif defined(WITHOUT_GREATEST)
#define waits(h)        from_mark(h)
#elif defined(WITHOUT_PROVEN_ALONE)
#define waits(h)        ((h) != NOBODY -> settle_after : later(settle_after, from_mark(NOBODY)))
#elif defined(WITHOUT_MARKS_DEADLINE)
#define waits(h)        settle_after
#else
#define waits(h)        later(settle_after, from_mark(h))
#endif
/* Ruling 21, runs/scope.py _may_resend: under half of the time for which the vendor keeps a key, from the first mark. */
#ifdef WITHOUT_WINDOW
#define in_window       true
#else
#define in_window       (now < marked_at + KEY_LIFE / 2)
#endif
/* Ruling 9, sql/step.sql liyagent_mark: marked_at never moves. */
#ifdef WITHOUT_FIRST_MARK
#define since           now
#else
#define since           (fate == unmarked -> now : marked_at)
#endif
/* Ruling 8: a person says that it did not happen only when no earlier attempt can send any more. */
#ifdef WITHOUT_PERSONS_WAIT
#define may_be_told     true
#else
#define may_be_told     (now >= later(deadline, settle_after))
#endif
/* Ruling 8, sql/step.sql liyagent_mark: the same intent is not marked again while its outcome is unknown. */
#ifdef WITHOUT_INTENT
#define may_repeat      true
#else
#define may_repeat      (fate == failed || did_not)
#endif

inline effect() {
  if :: (CONTRACT == KEYED && effects == 1 && now < first_effect_at + KEY_LIFE) -> skip   /* the vendor knows the key */
     :: else -> effects++; first_effect_at = now
  fi;
  assert(effects <= 1);             /* never done twice */
#if CONTRACT == READABLE
  assert(!not_found)                /* what a read-back told as not found does not come later */
#endif
}

/* A thread of a process carries the run. An atomic block is one commit or one sending and what the thread makes of it;
   between two blocks it may stall, or be gone. */
proctype Thread(byte me) {
  byte my_attempt, my_sequence, my_deadline; mtype found; bool resent;
idle:
  atomic { (alive[me] && status == queued && not_before <= now && lease_end(me) > now) ->
    assert(!was_ended);             /* what has ended is not carried again */
    status = running; holder = me; attempt = raised; takes++; not_before = 0; my_attempt = attempt }
  atomic { alive[me];               /* runs/checkpoint.py load: of this attempt, else LostLease */
    if :: status == running && attempt == my_attempt -> my_sequence = sequence; found = fate :: else -> goto lost fi;
    if :: losses > MOST_LOSSES -> goto finish            /* ruling 11: unopened */
       :: losses <= MOST_LOSSES && found == unmarked -> goto mark        /* runs/in_doubt.py: routed */
       :: losses <= MOST_LOSSES && found != unmarked && found != open -> goto told   /* kept */
       :: losses <= MOST_LOSSES && found == open
    fi }
  atomic { alive[me];
#ifdef WITHOUT_SETTLEMENT
    goto mark                       /* sent again whatever it was */
#elif CONTRACT == KEYED
    if :: in_window -> resent = true; goto mark :: else -> goto read_back fi
#elif CONTRACT == READABLE
    goto read_back
#else
    found = unknown; goto settle
#endif
  }
mark:                               /* sql/step.sql liyagent_mark */
  atomic { alive[me];
#ifdef WITHOUT_MARK
    my_deadline = lease_end(me)
#else
    if :: mine(my_attempt, my_sequence) ->
          marked_at = since; fate = open; marker = me; deadline = lease_end(me); my_deadline = deadline;
          my_sequence++; sequence = my_sequence
       :: else -> goto lost
    fi
#endif
  }
  atomic { alive[me];               /* the transport */
    if :: may_send(me, my_deadline) && (!resent || in_window) -> effect();
          if :: found = done; goto settle :: found = unknown fi          /* answered, or not */
       :: else -> found = (resent -> unknown : failed)   /* not a byte left */
    fi;
    if :: found == failed || CONTRACT == BLIND -> goto settle
       :: else -> if :: CONTRACT == KEYED && !resent && in_window -> resent = true; goto mark   /* ruling 9: at once */
                     :: else -> goto look fi
    fi }
read_back:
  atomic { alive[me];
    if :: settled
       :: else -> if :: mine(my_attempt, my_sequence) -> /* sql/claim.sql liyagent_release: no thread waits */
                        status = queued; holder = NOBODY; sequence = my_sequence + 1;
                        settle_after = later(settle_after, deadline); not_before = settle_after
                     :: else fi; goto lost
    fi }
look:
  atomic { alive[me] -> found = (effects > 0 -> done : unknown) }        /* ruling 7: absent proves nothing */
settle:                             /* sql/step.sql liyagent_settle */
  atomic { alive[me];
#ifdef WITHOUT_MARK
    fate = found
#else
    if :: mine(my_attempt, my_sequence) ->
          fate = found; my_sequence++; sequence = my_sequence; not_found = (found == unknown)
       :: else -> goto lost
    fi
#endif
  }
told:                               /* the model hears of it, and may ask for the very same again */
  atomic { alive[me];
    if :: (found == unknown || found == failed) && may_repeat && !repeated && status == running && attempt == my_attempt ->
          repeated = true; effects++; assert(effects <= 1)               /* a call of its own; its doubts are as above */
       :: skip
    fi }
finish:                             /* sql/step.sql liyagent_finish: an open mark becomes unknown */
  atomic { alive[me];
    if :: status == running && attempt == my_attempt && sequence == my_sequence ->
          status = ended; holder = NOBODY; was_ended = true; fate = (fate == open -> unknown : fate)
       :: else fi;
lost:
    my_attempt = 0; my_sequence = 0; my_deadline = 0; found = 0; resent = false; goto idle }
}

/* Ruling 12: two look at once. What was seen is claimed a moment later, whatever has come between. */
proctype Sweep() {
  byte seen, seen_take;
look:
  atomic { (status == running && (!alive[holder] || lease_end(holder) < now)) ->
    seen = holder;
#ifdef WITHOUT_COMPARE
    seen_take = takes
#endif
  }
  atomic {
    if :: still_lost(seen) ->
#ifndef WITHOUT_COMPARE
          seen_take = takes;
#endif
          assert(!(counted & (1 << seen_take)));      /* one loss, counted once */
          counted = counted | (1 << seen_take);
          settle_after = waits((alive[seen] -> NOBODY : seen));          /* by proof, or by lapse */
          status = queued; holder = NOBODY; losses++
       :: else fi;
    seen = 0; seen_take = 0; goto look }
}

/* Ruling 10: a process that ends gives back what its thread still carries. No loss; the thread may be anywhere. */
proctype Drain() {
  atomic { (status == running && alive[holder]) ->
    settle_after = waits(NOBODY); status = queued; holder = NOBODY }
}

/* A person looks at the vendor, finds nothing, and says so: the same may then be asked again. */
proctype Person() {
  atomic { (fate == unknown && effects == 0 && may_be_told) -> did_not = true }
}

proctype Clock()   { do :: atomic { now < LAST -> now++ } od }
proctype Renewal() { do :: atomic { alive[0] && renew_by < now + LEASE -> renew_by = now + LEASE } od }
proctype Death()   { if :: alive[0] = false :: alive[1] = false :: skip fi }

/* Nothing lost: when nothing can move any more, the run has ended, or waits for a time. */
proctype Judge() {
  timeout -> assert(status == ended || not_before > now);
#ifdef WITNESS
  assert(!(losses == 1 && effects == 1 && fate == done)) /* a good end after a loss can be reached */
#endif
}

init { atomic {
  run Thread(0); run Thread(1);
#ifdef THIRD                        /* process 0 has a second thread, and one sweeper is enough */
  run Thread(0);
#else
  run Sweep();
#endif
  run Sweep(); run Drain(); run Person();
  run Clock(); run Renewal(); run Death(); run Judge() } }
