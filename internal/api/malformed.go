package api

import (
	"strconv"
	"strings"
)

// MalformedRequest returns the response, head and body, to what is not valid HTTP. net/http reads no request of it, so no handler can
// answer, and there is no caller whose limits it could show.
func MalformedRequest(baseURL string) []byte { return malformed(baseURL, codeMalformedRequest.body) }

// TLSRequest returns the response to a client that begins TLS where HTTP is spoken.
func TLSRequest(baseURL string) []byte {
	return malformed(baseURL, errorBody(codeMalformedRequest, "This port speaks HTTP without TLS. Use http:// in place of https://, or the address "+baseURL+"."))
}

func malformed(baseURL string, body []byte) []byte {
	c := codeMalformedRequest
	b := []byte("HTTP/1.1 400 Bad Request\r\nAccess-Control-Allow-Origin: *\r\nCache-Control: no-store\r\nConnection: close\r\nContent-Length: ")
	b = append(strconv.AppendInt(b, int64(len(body)), 10), "\r\nContent-Type: application/json\r\nLink: "...)
	b = append(b, helpLinks(strings.TrimSuffix(baseURL, "/v1"), "")[c.number][0]...)
	return append(append(b, "\r\n\r\n"...), body...)
}
