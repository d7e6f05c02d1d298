// Package client is the Go client of the animal store's API.
//
//	store, err := client.New("https://api.example.com/v1", os.Getenv("PETSTORE_API_KEY"))
//	...
//	for pet, err := range store.Pets(ctx, client.ListPetsParams{Status: client.PetAvailable}) {
//		...
//	}
//
// A [Client] is safe for concurrent use. Create one for each key and share it, so that all calls
// share the key's limit.
//
// # Errors
//
// An error response is returned as an [*Error]. Compare its [Code], or use all of it:
//
//	if errors.Is(err, client.CodePetNotFound) { ... }
//
//	var e *client.Error
//	if errors.As(err, &e) && errors.Is(err, client.ErrServer) { log.Print(e.RequestID) }
//
// [ErrRateLimit] and the others beside it are the kinds of errors. Without a response, or with half
// of one, the error is [ErrTimeout] or [ErrConnection], and wraps the error of net/http or the
// context.
//
// # Retries
//
// A call is retried up to three times ([WithMaxRetries]), for up to ten minutes ([WithTimeout]):
//
//   - After 429 and 503, and after 409 while an earlier request with the same Idempotency-Key is in
//     progress. It waits for the time in Retry-After, plus a random time of up to a tenth of it, at
//     most 2 s. Waiting for a limit to reset is not a retry.
//   - After a lost connection, a proxy's 502, 503 or 504 (without a RequestID), and a 503 with
//     [CodeOutcomeUnknown], only if a second request is harmless: GET, and [Client.CreatePet] and
//     [Client.PlaceOrder], which always have an Idempotency-Key. It does not retry PATCH, and not
//     what issues a key: its response can't be had twice. The error is then a [*KeyError].
//   - Retry-After is whole seconds or an HTTP date, which is compared with the response's Date. It
//     means at least 1 s. If it is missing or anything else, a call waits a random time of up to 1
//     s, 2 s, 4 s … 60 s.
//
// # Limits
//
// The calls of a client are sent first come, first served, as many as X-RateLimit-Remaining says.
// The others wait for the reset. Start as many goroutines as you like; [Client.ImportPets] adds
// many animals without any. After a reset one call is sent first, because its response shows how
// many requests remain, and then two for each response.
//
// A call fails at once if the reset comes after the end of its time or of its context, or later
// than [WithMaxWait] allows, as the end of the day or of a ban does. Its [*Error] has status 429,
// and RetryAfter is the time until the reset. No request was sent if the message begins with "Not
// sent". [Client.GetUsage] and the operations of keys and failed requests never wait, because they
// are not counted.
//
// # Safety of the key
//
// A key that [Client.CreateKey] or [Client.RotateSelf] returns prints itself redacted:
// [Secret.Reveal] returns it.
//
// The key is sent to the base URL only, over https unless that is this machine. No redirect is
// followed. Printing a client never shows the key, and no error contains it.
package client
