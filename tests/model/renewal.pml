/* What a holder holds, it holds by its own row, which one statement renews (rulings 2 and 5): the row may lapse or be
   gone, a take may commit unseen, a thread may be gone without a word, and another process sweeps meanwhile.

   Claimed: when nothing can move any more, the run has ended, so no row stays `running` where nobody carries it; what
   still has its thread, or gets it in a moment, is not given back; and an attempt that was lost ends nothing.
   That a renewal moves no send deadline is in in_flight.pml. -DWITHOUT_<NAME> takes out the guard of that name. */
#define NOBODY 0

mtype = { queued, running, ended };
mtype status = queued;
byte attempt, holder = NOBODY;
byte life = 1;                      /* the process's life now; rows of earlier ones are gone */
bool has_row = true, is_fresh = true;
byte carried, starting, threadless;                /* attempts; how often one was seen without a thread */
byte lapses, gone_rows, unseen, broken, beats = 2;       /* how often each happens; beats that nothing calls for */

/* Ruling 2: a holder without a row counts as lapsed; no join that pruning can break. */
#ifdef WITHOUT_MISSING_ROW
#define is_lapsed       (holder == life && has_row && !is_fresh)
#else
#define is_lapsed       (holder != life || !has_row || !is_fresh)
#endif
/* sql/claim.sql liyagent_renew, runs/renewal.py _check_threads: running rows of its own that it did not name, seen twice. */
#ifdef WITHOUT_TWICE
#define never_comes     (threadless >= 1)
#else
#define never_comes     (threadless >= 2)
#endif
/* Ruling 5: an attempt ends the run only while it is the head's. */
#ifdef WITHOUT_FENCE
#define mine(a)         true
#else
#define mine(a)         (status == running && attempt == (a))
#endif
/* It renews four times a lease; here, when that changes something, and a few times more. */
#ifdef WITHOUT_ORPHANS
#define has_orphan      false
#else
#define has_orphan      (status == running && holder == life && attempt != carried)
#endif
/* runs/renewal.py _start_new_life: one that matches no row has lost all, and is a new holder. */
#ifdef WITHOUT_NEW_LIFE
#define is_due          (beats > 0 || (has_row && !is_fresh) || has_orphan)
#else
#define is_due          (beats > 0 || !has_row || !is_fresh || has_orphan)
#endif

/* runs/runner.py: takes; its thread starts a moment later, or never where the take's answer was lost. */
proctype Runner() {
  do :: atomic { (status == queued && carried == 0 && starting == 0 && has_row && is_fresh) ->   /* sql/take.sql */
          status = running; attempt++; holder = life; threadless = 0;
          if :: starting = attempt :: unseen < 1 -> unseen++ fi }
     :: atomic { starting > 0 -> carried = starting; starting = 0 }
     :: atomic { carried > 0 && broken < 1 -> broken++; carried = 0 }                /* gone without a word */
     :: atomic { carried > 0 ->
          if :: mine(carried) -> assert(status == running && attempt == carried); status = ended; holder = NOBODY
             :: else fi;            /* LostLease */
          carried = 0 }
  od
}

/* runs/renewal.py: what it carries is read first, then the statement runs. A start takes less than a beat. */
proctype Renewal() {
  byte named; bool was_starting;
  do :: atomic { is_due && !(was_starting && starting > 0) -> named = carried }
        atomic {
          was_starting = (starting > 0); beats = (beats > 0 -> beats - 1 : 0);
          if :: !has_row ->
#ifndef WITHOUT_NEW_LIFE
                carried = 0; starting = 0; life++; has_row = true; is_fresh = true
#else
                skip
#endif
             :: else -> is_fresh = true;
#ifndef WITHOUT_ORPHANS
                if :: status == running && holder == life && attempt != named -> threadless = (threadless < 2 -> threadless + 1 : 2)
                   :: else -> threadless = 0 fi;
                if :: status == running && holder == life && attempt != named && never_comes ->
                      assert(carried != attempt && starting != attempt);
                      status = queued; holder = NOBODY; threadless = 0
                   :: else fi
#endif
          fi;
          named = 0 }
  od
}

/* Another process: claims what lapsed. */
proctype Sweep() { do :: atomic { status == running && is_lapsed -> status = queued; holder = NOBODY } od }
/* The process or the database is slow, and a row is pruned, a few times. */
proctype Time() {
  do :: atomic { lapses < 2 && is_fresh -> lapses++; is_fresh = false }
     :: atomic { gone_rows < 1 && !is_fresh && has_row -> gone_rows++; has_row = false }
     :: break
  od
}
proctype Judge() {
  timeout -> assert(status == ended);
#ifdef WITNESS
  assert(!(attempt == 3 && life == 2 && unseen == 1))    /* all of it can happen to one run */
#endif
}

init { atomic { run Runner(); run Renewal(); run Sweep(); run Time(); run Judge() } }
