package output

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// yamlOf returns JSON as block YAML that every reader takes for the same values, with the members in their order. goccy/go-yaml and others
// write texts such as 1e3, 12:30:45 or .inf without quotes, which PyYAML or js-yaml take for numbers.
func yamlOf(text []byte) (string, error) {
	y := yamlWriter{dec: json.NewDecoder(bytes.NewReader(text))}
	y.dec.UseNumber()
	if err := y.value("", "", ""); err != nil {
		return "", err
	}
	return y.out.String(), nil
}

type yamlWriter struct {
	dec *json.Decoder
	out strings.Builder
}

// value writes the next value: a scalar after a separator, a collection beginning with first and then with indent before each line.
func (y *yamlWriter) value(separator, first, indent string) error {
	token, err := y.dec.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case json.Delim:
		return y.collection(token == '{', separator, first, indent)
	case string:
		y.out.WriteString(separator + yamlText(token))
	case json.Number:
		y.out.WriteString(separator + yamlNumber(token))
	case bool:
		y.out.WriteString(separator + strconv.FormatBool(token))
	case nil:
		y.out.WriteString(separator + "null")
	}
	y.out.WriteByte('\n')
	return nil
}

// collection writes the members of an object or the elements of an array, and reads its end.
func (y *yamlWriter) collection(object bool, separator, first, indent string) error {
	if !y.dec.More() {
		y.out.WriteString(separator + map[bool]string{true: "{}", false: "[]"}[object] + "\n")
	}
	for before := first; y.dec.More(); before = indent {
		y.out.WriteString(before)
		if !object {
			y.out.WriteByte('-')
			if err := y.value(" ", " ", indent+"  "); err != nil {
				return err
			}
			continue
		}
		name, err := y.dec.Token()
		if err != nil {
			return err
		}
		text, _ := name.(string)
		y.out.WriteString(yamlText(text) + ":")
		if err := y.value(" ", "\n"+indent+"  ", indent+"  "); err != nil {
			return err
		}
	}
	_, err := y.dec.Token()
	return err
}

var (
	yamlPlain    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*( [A-Za-z0-9_.]+)*$`)
	yamlReserved = regexp.MustCompile(`(?i)^(y|n|yes|no|on|off|true|false|null)$`)
)

// yamlText quotes all but words. The escapes of Go are among those of YAML.
func yamlText(s string) string {
	if yamlPlain.MatchString(s) && !yamlReserved.MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}

// yamlNumber has no exponent: PyYAML takes 1e3 for a text.
func yamlNumber(n json.Number) string {
	if f, err := n.Float64(); err == nil && strings.ContainsAny(n.String(), "eE") {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return n.String()
}
