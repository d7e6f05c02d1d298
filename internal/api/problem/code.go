package problem

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Code is one kind of error in the API. Codes are only ever added.
type Code struct {
	Status int
	Name   string
	// Message is for errors without a message of their own. body is the response with it.
	Message string
	Body    []byte
	// Number is the index in Codes.
	Number int
}

// Codes are all codes, in the order of the table and of docs/errors.md.
var Codes []*Code

// newCode adds a code to the table.
func newCode(status int, name, message string) *Code {
	c := &Code{Status: status, Name: name, Message: message, Number: len(Codes)}
	c.Body = Body(c, message)
	Codes = append(Codes, c)
	return c
}

// Body returns the contract's Error: the code, the message, the status.
func Body(c *Code, message string) []byte {
	b := append(make([]byte, 0, 64+len(c.Name)+len(message)), `{"code":"`...)
	b = append(b, c.Name...)
	b = append(b, `","message":`...)
	// AppendQuote replaces invalid UTF-8, and reports it by its error.
	b, _ = jsontext.AppendQuote(b, message)
	b = append(b, `,"status":`...)
	return append(strconv.AppendInt(b, int64(c.Status), 10), '}', '\n')
}
