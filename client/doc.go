// Package client is the Go client of the animal store's API.
//
//	store, err := client.New("https://api.example.com/v1", os.Getenv("PETSTORE_API_KEY"))
//	...
//	for pet, err := range store.Pets(ctx, client.ListPetsParams{Status: client.PetAvailable}) {
//		...
//	}
//
// A [Client] is safe for concurrent use. Create one for each key and share it, so that all calls know when the key's limit is
// used up.
//
// # Errors
//
// An error response is returned as an [*Error]. Compare its [Code], or use all of it:
//
//	if errors.Is(err, client.CodePetNotFound) { ... }
//
//	var e *client.Error
//	if errors.As(err, &e) && e.Status >= 500 { log.Print(e.RequestID) }
//
// Any other error means that there was no response, or none that could be read. It wraps the error of net/http or the context.
//
// # Retries
//
// A call makes up to four attempts ([WithMaxRetries]):
//
//   - It retries after 429 and 503, and after 409 while an earlier request with the same Idempotency-Key is in progress. It waits for
//     Retry-After plus a random tenth of that at most, so that clients don't all come back at once.
//   - After a lost connection, and after a gateway's 502 or 504, it retries only if a second request is harmless: GET, and
//     POST, which always has an Idempotency-Key. It does not retry PATCH.
//   - Without Retry-After it waits a random time of up to 1 s, 2 s, 4 s … 60 s.
//
// The call returns the error at once if the wait is longer than [WithMaxWait], as that for the end of a ban or of the day, or
// longer than the context allows. While a key's limit is used up, all calls of the client wait instead of sending requests,
// because a key that keeps sending requests after 429 is banned. [Client.GetUsage] does not wait, because it is not counted.
//
// # Safety of the key
//
// The key is sent to the origin of the base URL only. Redirects to other origins are not followed. Printing a client never shows
// the key, and no error contains it.
package client
