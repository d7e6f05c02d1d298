package api

import (
	"strconv"
	"time"

	"petstore.example/internal/keys"
)

// setKeyExpires sets X-Key-Expires on a response if its key expires soon: the first Unix second at
// which the key is refused. A 401 does not have the header.
func (x *exchange) setKeyExpires() {
	at := x.Caller.ExpiresAt
	if left := at.Sub(x.asked.Now); left > 0 && left <= keys.ExpiryNotice {
		x.set("X-Key-Expires", strconv.FormatInt(at.Add(time.Second-1).Unix(), 10))
	}
}
