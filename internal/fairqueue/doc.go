// Package fairqueue shares the database's connections fairly among tenants.
//
// A Store stands before the stores of animals, orders, idempotency keys and usage. It bounds how
// many of their calls run at the same time, for one tenant and for all together, and calls that
// wait get their turn by tenant, not by arrival. So a tenant with a thousand waiting calls delays
// another by one call, not by a thousand, and slow calls of one tenant never use all connections.
//
// Some writes of one tenant share calls: creates of animals, changes of animals that depend on
// nothing, and orders; creates and orders with an idempotency key are kinds of their own. While two
// calls of such a kind are under way, further requests gather in a batch of 64 at most, which is
// one call and takes one slot. A request that joined a batch is not canceled with its client.
//
// Reads that count in no window, of a tenant's keys and failed requests, and changes of its keys have
// a few places of each tenant beside: catalog.ErrManyReads is the error of one that got none in its
// time. Revocations have places of their own.
//
// A call waits for at most three quarters of the time that it may take. Then its error is
// context.DeadlineExceeded, and the store was not called. Store is safe for concurrent use.
package fairqueue
