package api

import (
	"strconv"
	"time"
)

// expiryNotice is how long before a key expires its responses say so.
const expiryNotice = 30 * 24 * time.Hour

// setKeyExpires sets X-Key-Expires on the response to a key that expires soon: the first Unix
// second at which it is refused. A 401 is to none.
func (x *exchange) setKeyExpires() {
	at := x.caller.ExpiresAt
	if left := at.Sub(x.now); left > 0 && left <= expiryNotice {
		x.set("X-Key-Expires", strconv.FormatInt(at.Add(time.Second-1).Unix(), 10))
	}
}
