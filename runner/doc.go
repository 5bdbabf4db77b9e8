// Package runner is a durable message engine: messages are posted to the inboxes of workers,
// claimed under leases, run by handlers, and acknowledged together with everything the handler
// did. It is a library and does not interpret messages.
//
// # Nouns
//
//   - A [Message] is the unit of work; its bytes are an LMSG frame.
//   - A [Runner] is one open storage with one committer: the goroutine through
//     that makes all changes, many with one fsync (group commit).
//   - A [Worker] consumes one inbox. It claims rows in batches, runs a
//     [Handler] or a [BatchHandler] on them, and settles their outcome.
//   - A [Lease] is the right to run one row until a deadline; its value is the
//     token that every later step requires. Workers renew their leases.
//   - A [Tx] collects what a handler reads and writes: state, messages to
//     other workers, outbox rows, timers. It is validated and applied in the
//     commit that acknowledges the message.
//   - A [DeadLetter] is a message that failed too often, or for good.
//   - A [Group] passes many frames to the committer at once and is called back
//     when they are durable, for a loop that must not block.
//   - A [Storage] is the durable store: an ordered map with atomic batches.
//
// # The interface to the storage
//
// The engine uses no files and no database; it only opens a [Backend] of its Storage.
//
//	Post, Submit, Worker, Tx, …   what a program calls
//	          │
//	       engine                 committer, index, leases, timers, dead letters
//	          │
//	Storage ─ Backend ─ Batch     the interface: storage.go
//	          │
//	pebblestore, memstore, …
//
// runnertest.Run tests whether a storage meets the engine's guarantees.
//
// # Invariants
//
//  1. What Post, Submit or any other call acknowledged is durable.
//  2. A message is in exactly one place: its inbox, the dead letters, or done.
//  3. The effects of a message happen once: they are in the same commit as its
//     acknowledgement, and that commit checks the lease token.
//  4. Every delivery that fails is counted before it can repeat, a crash of the
//     process included, so every message leaves its inbox within
//     Policy.RetryBudget failures. Failures with other causes do not count: a
//     run that was interrupted, one without space (ErrNoSpace), and the [Retry]
//     of an ordered worker, which waits with its message.
//  5. Sequence numbers of one inbox rise in commit order and are never reused.
//  6. After a storage failure nothing is acknowledged until Reopen.
//
// # The life of a message
//
//	Post ──► inbox ──claim──► leased ──handler──► done (row, lease gone; effects in)
//	  timer due ─┘  ▲            │
//	                │            ├─ failed, budget left ──► parked at the tail
//	                └── delay ───┘                          (lease without owner)
//	                             └─ failed for good ──► dead letter ──replay──► inbox
//
// # Layout
//
// Every stored key is one byte for the table, then the key. Integers in keys
// are big-endian, in values little-endian.
//
//	0 app_state      free bytes            free bytes; "runner." is reserved
//	1 inbox          worker u64, seq u64   LMSG frame; LMSB, count u32, frames: a bundle
//	2 outbox         seq u64               message bytes
//	3 leases         worker u64, seq u64   LSE0, owner u64, deadline i64, attempts u32
//	4 timers         due i64, seq u64      LMSG frame
//	5 dedupe         worker u64, hash 16   DDP0, completed i64, expires i64
//	6 dead_letter    worker u64, seq u64   DLQ1 record (DLQ0 is read too)
//	7 inbox_high     worker u64, seq u64   LMSG frame
//	8 inbox_fired    worker u64, seq u64   timer key, LMSG frame
//	9 dedupe_expiry  expires, dedupe key   nothing
//	10 history       worker u64, hash 16   HIS0 record of a message in a named queue
//	11 finished      worker u64, n u64     hash of its id and HIS0 record of its end, in that order
//
// # Statuses of the original
//
// The original has one integer for everything. Here each is an error:
//
//	OK                            nil
//	NOTFOUND   no such key        ErrNotFound, ErrNoSchema (marker)
//	           other worker       ErrMisrouted
//	ERROR      bad argument       ErrInvalid
//	           stored bytes bad   ErrFormat
//	           start twice, join  ErrStarted, ErrStopped
//	FULL       value too large    ErrTooLarge
//	READONLY   does not arise: a view has no write methods
//	BUSY       lease held         ErrLeased
//	           runner stopped     ErrStopped
//	           too much waiting   ErrBusy
//	           another writer     does not arise: the committer takes turns
//	           nothing to do      Tick returns 0 and nil
//	           child left open    ErrNesting
//	           from a handler     Retry(err, after)
//	EXISTS                        ErrExists
//	CONFLICT   value changed      ErrConflict
//	           token differs      ErrLeaseLost
//	           schema differs     ErrSchema
//	wire EINVAL                   ErrInvalid
//	wire E2BIG                    does not arise: Append grows its buffer
//	wire EFORMAT                  ErrFormat
//	wire EVERSION                 ErrVersion
//	wire ETRUNC                   ErrTruncated
//
// # Deviations
//
// Each corrects a fault of the original:
//
//   - The retry count is in the lease row of the message, not in a row
//     "retry:" plus message id: two messages with one id do not share a
//     budget, ids may be long, and a crash is counted. A message that was
//     requeued therefore has a lease row at once, without an owner.
//   - Non-retryable failures count against the same budget and end in the dead
//     letters; they stop the worker only under Policy.StopOnError.
//   - Malformed and misrouted messages go to the dead letters at once.
//   - Due timers are moved to their worker's inbox and are then treated like
//     messages: lease, budget, dead letter. They and the ordinary rows each
//     have a reserved part of every batch.
//   - A held or parked row does not block the rows behind it, except in an
//     inbox whose worker is ordered. Leases of an earlier process of the same
//     journal are over at once.
//   - The owner of a lease is one Worker, not an inbox. The leases of everything
//     that is claimed are renewed while their worker is running, no row is taken
//     from such a worker. A worker claims no more than its share, and gives back what waits
//     behind a slow handler if another one is idle.
//   - Dead letters have numbers of their own, and a time, reason and source.
//   - Intents (outbox rows, timers) are in the commit of the data.
//   - Deleting an absent key is not an error. Reads of an aborted nested
//     transaction are still validated. There are range reads.
//   - Frames are bounded by Options.MaxFrame when they are posted.
//   - Ordinary messages that one commit posts to an inbox are one stored row, a
//     bundle, until they have different outcomes. A message that is posted alone
//     is stored as in the original.
//   - Inserting at a chosen number never overwrites.
//   - Counts are also returned with an error.
//   - Transient errors (a lost lease, a conflict, a failed or reopened runner)
//     never end a started worker: they are counted, and the worker tries again.
//   - A batch of 0 means the default of 256, not 1, and an idle worker is woken
//     by new rows, so its sleep is bounded by 1 s, not 1 ms.
//   - Metrics sinks are called once per tick, not three or four times per
//     message. Time is monotonic within a process.
//   - A marker with a lower minor can be migrated instead of refused.
//   - There is no database gate: readers read snapshots, and every write
//     is made by the committer. There is no guest runtime: a handler is a
//     Go function.
//   - The order of a tick is: due timers, then claims. A claim of a batch
//     reads the clock once.
//   - Tx reads and writes app_state only; the other tables are changed by
//     methods that keep their invariants.
package runner
