package api

import (
	"strconv"
	"time"

	"petstore.example/internal/keys"
)

// setKeyExpires sets X-Key-Expires on the response to a key that expires soon: the first Unix
// second at which it is refused. A 401 is to none.
func (x *exchange) setKeyExpires() {
	at := x.caller.ExpiresAt
	if left := at.Sub(x.now); left > 0 && left <= keys.ExpiryNotice {
		x.set("X-Key-Expires", strconv.FormatInt(at.Add(time.Second-1).Unix(), 10))
	}
}
