// Package client calls the animal store's API for its customers.
//
//	store, err := client.New("https://api.example.com/v1", os.Getenv("PETSTORE_API_KEY"))
//	...
//	for pet, err := range store.Pets(ctx, client.ListPetsParams{Status: client.PetAvailable}) {
//		...
//	}
//
// A [Client] is safe for concurrent use. Make one for each key and share it: what it learns of the key's limits then
// holds for all calls.
//
// # Errors
//
// An answer that is no success is an [*Error]. Ask for its [Code], or for all of it:
//
//	if errors.Is(err, client.CodePetNotFound) { ... }
//
//	var e *client.Error
//	if errors.As(err, &e) && e.Status >= 500 { log.Print(e.RequestID) }
//
// Every other error means that no answer came, or none that can be read. It wraps what net/http or the context said.
//
// # Waiting and trying again
//
// A call is tried up to four times ([WithMaxRetries]):
//
//   - after 429 and 503, and while an earlier request with the same Idempotency-Key still runs (409), when the wait that
//     Retry-After asks for is over. Up to a tenth more is added by chance, so that clients don't come back all at once;
//   - when no answer came, or a gateway's 502 or 504 did, only where a second request can do no harm: for GET, and for
//     POST, which always carries an Idempotency-Key. PATCH is not repeated then;
//   - without a Retry-After the wait is chosen by chance between nothing and 1 s, 2 s, 4 s … 60 s.
//
// A wait longer than [WithMaxWait], as that for the end of a ban or of the day, is not begun, nor is one that the context
// would not outlive: the error is returned at once. While a key's limit is used up, the other calls of the same client wait
// too instead of asking, because a key that goes on asking after 429 is banned for a time. [Client.GetUsage] does not wait: it is free.
//
// # The key
//
// The key is sent to the base URL's origin only. A redirect to any other is not followed. No way of printing the client shows
// the key, and no error holds it.
package client
