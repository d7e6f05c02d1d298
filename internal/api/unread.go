package api

import (
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// unreadWait is how long an answer waits for a body that it does not need, and unreadMost how much of it is read: what
	// net/http reads too.
	unreadWait = 50 * time.Millisecond
	unreadMost = 256 << 10
	// lingerTime is how long a connection that closes stays open for what the client still sends: closed at once, it
	// could be reset before the client has read the answer.
	lingerTime = 5 * time.Second
	// lateAnswer is how long an answer has to get through when the server's time for the exchange may be over.
	lateAnswer = 5 * time.Second
)

// leaveBody deals with a body that was not read, before the answer is sent. net/http would first wait for the body, as long
// as the server's read timeout is, and a client that is slow, or waits for the answer before it sends, would get none.
//
// A body that is there already, as it is with nearly all clients, is read, so that the connection can go on. Else it is
// closed after the answer: the rest of a body must never be taken for another request.
func (x *exchange) leaveBody() {
	r := x.Request
	if x.bodyRead || r.ContentLength == 0 || r.ProtoMajor != 1 || x.Writer.Header()["Connection"] != nil {
		return
	}
	if r.ContentLength > unreadMost || len(r.Header["Expect"]) > 0 {
		x.set("Connection", "close")
		return
	}
	conn := http.NewResponseController(x.Writer)
	deadline := time.Now().Add(unreadWait)
	if conn.SetReadDeadline(deadline) != nil {
		return
	}
	_, err := io.CopyN(io.Discard, r.Body, unreadMost+1)
	// At the end of the body net/http begins to listen for the client's hanging up. If the deadline has passed since, it
	// takes that for one.
	if errors.Is(err, io.EOF) && conn.SetReadDeadline(time.Time{}) == nil && time.Now().Before(deadline) {
		return
	}
	x.set("Connection", "close")
	_ = conn.SetReadDeadline(time.Now().Add(lingerTime))
}

// brokenBody answers a body that ended early or did not come in time. The server's time to write the answer may have
// ended with its time to read.
func (x *exchange) brokenBody() error {
	x.set("Connection", "close")
	_ = http.NewResponseController(x.Writer).SetWriteDeadline(time.Now().Add(lateAnswer))
	return codeInvalidJSON.withMessage("The body ended early or did not arrive in time.")
}
