package jsonbody

import (
	"errors"
	"strconv"
	"strings"
)

var (
	errNotInteger = errors.New("must be an integer")
	errOutOfRange = errors.New("must be a 64-bit integer")
)

// maxDigits is how many digits an int64 can have.
const maxDigits = 19

// parseInteger reads a JSON number whose value is an integer, however it is written: 1.0 and 1e3
// are integers (JSON Schema 2020-12), and -0 is 0. It works with the digits only, so even a large
// exponent costs little.
func parseInteger(literal string) (int64, error) {
	mantissa, exponent := literal, "0"
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		mantissa, exponent = literal[:i], literal[i+1:]
	}
	unsigned := strings.TrimPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(unsigned, ".")
	digits := whole + fraction
	significant := strings.TrimRight(digits, "0")
	if significant == "" {
		return 0, nil
	}
	// Atoi returns the largest or smallest int for an exponent out of range. It is clamped so that
	// sums can't overflow.
	e, _ := strconv.Atoi(exponent)
	e = min(max(e, -2*MaxBytes), 2*MaxBytes)
	zeros := e - len(fraction) + len(digits) - len(significant)
	significant = strings.TrimLeft(significant, "0")
	switch {
	case zeros < 0:
		return 0, errNotInteger
	case len(significant)+zeros > maxDigits:
		return 0, errOutOfRange
	}
	text := mantissa[:len(mantissa)-len(unsigned)] + significant + strings.Repeat("0", zeros)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, errOutOfRange
	}
	return n, nil
}
