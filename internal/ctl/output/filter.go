package output

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/itchyny/gojq"
)

// Filter is a compiled expression of jq. It can't read the environment or files.
type Filter struct {
	code *gojq.Code
	ctx  func() context.Context
}

// ParseFilter compiles an expression. A run may be endless, so it ends with the context that ctx
// returns at its start.
func ParseFilter(expression string, ctx func() context.Context) (*Filter, error) {
	query, err := gojq.Parse(expression)
	if err != nil {
		return nil, fmt.Errorf("%w in %q", err, expression)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, fmt.Errorf("%w in %q", err, expression)
	}
	return &Filter{code, ctx}, nil
}

// print prints the results for a JSON text, a line each: texts unchanged, other values as JSON,
// indented on a terminal.
func (f *Filter) print(p Printer, w io.Writer, text []byte) error {
	var input any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&input); err != nil {
		return err
	}
	results := f.code.RunWithContext(f.ctx(), input)
	for {
		result, ok := results.Next()
		if !ok {
			return nil
		}
		if err, ok := result.(error); ok {
			if halt := (*gojq.HaltError)(nil); errors.As(err, &halt) && halt.Value() == nil {
				return nil
			}
			return fmt.Errorf("--jq: %w", err)
		}
		line, err := p.result(result)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s\n", line); err != nil {
			return err
		}
	}
}

// result returns the text of a result. On a terminal, the only control characters are line ends and
// tabs.
func (p Printer) result(v any) ([]byte, error) {
	if text, ok := v.(string); ok {
		if p.TTY {
			text = cleanLines(text)
		}
		return []byte(text), nil
	}
	text, err := gojq.Marshal(v)
	text = escapeHidden(text)
	if err != nil || !p.TTY {
		return text, err
	}
	var indented bytes.Buffer
	err = json.Indent(&indented, text, "", "  ")
	return indented.Bytes(), err
}
