// Package fairqueue shares the database's connections fairly among tenants.
//
// A Store stands before the stores of animals, orders, idempotency keys and usage. It bounds how
// many of their calls run at the same time, for one tenant and for all together. Waiting calls get
// their turn by tenant, not by arrival. So a tenant with a thousand waiting calls delays another by
// one call, not by a thousand, and slow calls of one tenant never use all connections.
//
// Each tenant also has a few places for reads of its keys and failed requests, which count in no
// window, and for changes of its keys. A call that gets no place in time returns
// catalog.ErrManyReads. Revocations have places of their own.
//
// A call waits for at most three quarters of its time. Then its error is context.DeadlineExceeded,
// and the store was not called. Store is safe for concurrent use.
package fairqueue
