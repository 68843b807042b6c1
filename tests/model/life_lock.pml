/* A life-lock that lies: the session of a living holder is ended and frees its lock; the database restarts, or crashes
   below its start time, and all locks are free at once while no holder could renew (ruling 3).

   Claimed: a holder that renews whenever it can loses nothing; a hint counts only where the lock that the holder names
   was free for a whole look; and a run whose holder died or fell silent is claimed in the end.
   -DWITHOUT_<NAME> takes out the guard of that name. */
#define LEASE 2                     /* ticks; a tick is a look, and a renewal comes in each */
#define SWEEP 1
#define LAST  8

byte now, renew_by = LEASE, server_start, connected_at;
byte named = 1, freed_at;           /* the lock that the holder's row names, and since when it has been free */
bool up = true, connected = true;
bool session = true, locked = true; /* the holder's connection, and whether it keeps the lock that is named */
bool alive = true, punctual = true, beat = true, running = true, just_up;

#define is_honest       (alive && punctual)
/* Ruling 3, sql/claim.sql liyagent_may_claim: one lease and one sweep after the server's start and this connection. */
#define grace(since)    (now >= (since) + LEASE + SWEEP)
#if defined(WITHOUT_GRACE)
#define may_claim       true
#elif defined(WITHOUT_RECONNECT)
#define may_claim       (server_start == 0 || grace(server_start))
#else
#define may_claim       (connected_at == 0 || grace(connected_at))   /* no connection is older than the server */
#endif
/* sql/claim.sql liyagent_claim_hinted: a free lock alone is no death, the lease has to have passed. */
#ifdef WITHOUT_LEASE
#define is_over         true
#else
#define is_over         (renew_by < now)
#endif
/* runs/hint.py: free in two looks. */
#ifdef WITHOUT_TWO_LOOKS
#define twice           true
#else
#define twice           (now > seen_at)
#endif
/* sql/claim.sql liyagent_claim_hinted: the lock that was seen free is the one that the row still names. */
#ifdef WITHOUT_NAME
#define is_named        true
#else
#define is_named        (seen == named)
#endif
#define is_free         (seen != named || !locked)       /* ... and nobody keeps it now */

inline free_lock() { freed_at = (locked -> now : freed_at); locked = false; session = false }

/* runs/renewal.py: it renews first; then a new connection takes a new lock and says so on the row. */
proctype Holder() {
  do :: atomic { (running && up && alive && !beat) -> renew_by = now + LEASE; beat = true; session = true }
     :: atomic { (running && up && alive && session && beat && !locked) -> named++; locked = true }
  od
}

/* runs/hint.py and runs/watch.py in another process. One is enough: the first claim of any ends what is looked at here. */
proctype Watch() {
  byte seen, seen_at;
  do :: atomic { (running && up && !connected) -> connected = true; connected_at = now; seen = 0; seen_at = 0 }
     :: atomic { (running && up && connected && !locked && seen != named) -> seen = named; seen_at = now }
     :: atomic { (running && up && connected && locked && seen == named) -> seen = 0; seen_at = 0 }
     :: atomic { (running && up && connected && seen > 0 && twice && may_claim && is_over && is_named && is_free) ->
          assert(!is_honest);
          assert(!locked && now > freed_at);             /* the lock it names, for a whole look */
#ifdef WITNESS
          assert(false);                                 /* a hint can lead to a claim */
#endif
          running = false }
     :: atomic { (running && up && connected && may_claim && renew_by < now) ->     /* liyagent_sweep */
          assert(!is_honest); running = false }
  od
}

/* Time does not run away from a holder that renews whenever it can; after an outage it is given a tick. */
proctype Clock() {
  do :: atomic { (running && now < LAST && (!up || !is_honest || beat || just_up)) ->
       now++; beat = false; just_up = false } od
}

/* A session is ended, twice at the most; the database goes away once, and comes back after any time. */
proctype Ended() { byte times; do :: atomic { (running && up && session && times < 2) -> times++; free_lock() } :: break od }
proctype Outage() {
  if :: atomic { (running && up) -> up = false; connected = false; free_lock() };
        if :: atomic { up = true; just_up = true; beat = false; server_start = now }      /* restarted */
           :: atomic { up = true; just_up = true; beat = false }                          /* its backends crashed */
        fi
     :: skip
  fi
}
proctype Death() { if :: atomic { alive = false; free_lock() } :: punctual = false :: skip fi }

proctype Judge() { timeout -> assert(!running || is_honest || renew_by >= now || now < LEASE + SWEEP
  || connected_at + LEASE + SWEEP > now) }

init { atomic { run Holder(); run Watch(); run Clock(); run Ended(); run Outage(); run Death(); run Judge() } }
