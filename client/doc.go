// Package client is the Go client of the animal store's API.
//
//	store, err := client.New("https://api.example.com/v1", os.Getenv("PETSTORE_API_KEY"))
//	...
//	for pet, err := range store.Pets(ctx, client.ListPetsParams{Status: client.PetAvailable}) {
//		...
//	}
//
// A [Client] is safe for concurrent use. Create one for each key and share it, so that all calls
// share what remains of the key's limit.
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
// Any other error means that there was no response, or none that could be read. It wraps the error
// of net/http or the context.
//
// # Retries
//
// A call makes up to four attempts ([WithMaxRetries]):
//
//   - It retries after 429 and 503, and after 409 while an earlier request with the same
//     Idempotency-Key is in progress. It waits for the time
//     in Retry-After, plus a random time of up to a tenth of it. Each further 429 in a row doubles the random part.
//   - After a lost connection, a gateway's 502, 503 or 504 (without a RequestID), and a 503 with
//     [CodeOutcomeUnknown], it retries only if a second request is harmless: GET, and
//     POST, which always has an Idempotency-Key. It does not retry PATCH.
//   - Retry-After is whole seconds or an HTTP date, which is compared with the response's Date. It
//     means at least 1 s. Without it, or if it is anything else, a call waits a random time of up to
//     1 s, 2 s, 4 s … 60 s.
//
// # Limits
//
// The calls of a client are sent first come, first served, as many as X-RateLimit-Remaining says.
// The others wait for the reset: as long as it takes, and without using up an attempt. Start as
// many goroutines as you like. Give the context a deadline if a call must not wait for its turn so
// long. After a reset one call is sent first, because its response shows how many requests remain,
// and then two for each response.
//
// A call fails at once if the reset comes after the context's deadline, or later than [WithMaxWait]
// allows, as the end of the day or of a ban does. Its [*Error] has status 429, and RetryAfter is
// the time until the reset. No request was sent if the message begins with "Not sent".
// [Client.GetUsage] and the operations of keys and failed requests never wait for their turn,
// because they are not counted.
//
// # Safety of the key
//
// A key that [Client.CreateKey] or [Client.RotateKey] returns prints itself redacted:
// [Secret.Reveal] returns it.
//
// The key is sent to the origin of the base URL only. Redirects to other origins are not followed.
// Printing a client never shows the key, and no error contains it.
package client
