package api

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/api/problem"
)

const (
	// drainWait is how long a response waits for a body that it does not need. drainMost is how
	// many bytes of that body are read: as many as net/http reads.
	drainWait = 50 * time.Millisecond
	drainMost = 256 << 10
	// lingerTime is how long a closing connection reads what the client still sends, and lingerMost
	// is how many bytes it reads at most. If the connection were closed at once, it could be reset
	// before the client has read the response. Many clients, such as Python's http.client, read
	// only after they have sent the whole body.
	lingerTime = 5 * time.Second
	lingerMost = 32 << 20
	// lateAnswer bounds the writing of a response after the server's time for the exchange may have
	// run out.
	lateAnswer = 5 * time.Second
)

// drainBody reads or gives up an unread body before the response is sent. net/http would first wait
// for the body, up to the server's read timeout. A client that is slow, or waits for the response
// before it sends, would get no response.
//
// A body that has arrived, as with nearly all clients, is read, so that the connection can be
// reused. Otherwise the connection is closed after the response: the rest of a body must never be
// taken for another request.
func (x *exchange) drainBody() {
	r := x.Request
	if x.bodyRead || r.ContentLength == 0 || r.ProtoMajor != 1 || x.headers.Header["Connection"] != nil {
		return
	}
	if r.ContentLength > drainMost || len(r.Header["Expect"]) > 0 {
		x.closeEarly()
		return
	}
	conn := http.NewResponseController(x.Writer)
	deadline := time.Now().Add(drainWait)
	if conn.SetReadDeadline(deadline) != nil {
		return
	}
	_, err := io.CopyN(io.Discard, r.Body, drainMost+1)
	// At the end of the body net/http begins to watch for the client's disconnect. If a deadline
	// has passed since, it would take that for a disconnect.
	if errors.Is(err, io.EOF) && conn.SetReadDeadline(time.Time{}) == nil && time.Now().Before(deadline) {
		return
	}
	x.closeEarly()
}

// closeEarly closes the connection after the response, because the body was not read to its end. A
// client that waits for 100 Continue does not send the body: net/http sends 100 Continue only when
// the first byte is read.
func (x *exchange) closeEarly() {
	x.set("Connection", "close")
	x.lingers = x.bodyRead || len(x.Request.Header["Expect"]) == 0
}

// linger sends the response, reads what the client still sends, and closes the connection (RFC
// 9112, section 9.6). It takes the connection over from net/http, which can't continue to read a
// body whose end did not arrive in time.
func linger(c *gin.Context) {
	w, ok := c.Writer.(interface{ Unwrap() http.ResponseWriter }) // Gin allows no hijack after a response.
	if !ok {
		return
	}
	// Gin has not sent the head of a response without a body yet.
	c.Writer.WriteHeaderNow()
	server := http.NewResponseController(w.Unwrap())
	if server.Flush() != nil {
		return
	}
	conn, _, err := server.Hijack()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_ = conn.SetReadDeadline(time.Now().Add(lingerTime))
	_, _ = io.CopyN(io.Discard, conn, lingerMost) // until the client closes the connection
}

// brokenBody returns the error for a body that ended early or did not arrive in time, after data.
// The server's write deadline may have passed together with its read deadline.
func (x *exchange) brokenBody(data []byte) error {
	x.set("Connection", "close")
	_ = http.NewResponseController(x.Writer).SetWriteDeadline(time.Now().Add(lateAnswer))
	return problem.InvalidJSON.WithMessage(
		"The body ended early or did not arrive in time" + jsonbody.Position(data, len(data)) + ".",
	)
}
