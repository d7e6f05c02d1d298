package key

import (
	"fmt"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/keys"
)

// Issued is a new key. It is the only type that contains a key's plaintext, which is empty after a dry run.
type Issued struct {
	keys.Key
	plaintext string
	// replaced is the key that a rotation replaced.
	replaced keys.Key
}

var plaintextColumn = output.Column[Issued]{Name: "key", Value: func(i Issued) any { return i.plaintext }}

// IssuedView shows a new key as JSON.
var IssuedView = output.View[Issued]{
	{Name: "id", Value: func(i Issued) any { return i.ID }},
	plaintextColumn,
	{Name: "tenant", Value: func(i Issued) any { return i.TenantName }},
	{Name: "name", Value: func(i Issued) any { return i.Name }},
	{Name: "environment", Value: func(i Issued) any { return string(i.Environment) }},
	{Name: "expires_at", Value: func(i Issued) any { return i.ExpiresAt }},
	{Name: "per_minute", Value: func(i Issued) any { return output.NumberOrNil(i.PerMinute) }},
}

// RotatedView shows a new key and the one that it replaces as JSON.
var RotatedView = append(IssuedView[:len(IssuedView):len(IssuedView)],
	output.Column[Issued]{Name: "replaces", Value: func(i Issued) any { return i.replaced.ID }},
	output.Column[Issued]{Name: "old_expires_at", Value: func(i Issued) any { return i.replaced.ExpiresAt }},
)

// printIssued prints a new key: alone, unless another format was asked for or a dry run left no key to print.
func printIssued(f *cmdutil.Factory, jsonView output.View[Issued], i Issued, token keys.Token) error {
	if f.DryRun {
		i.ID, i.Last4 = "", "" // The change makes others.
	} else {
		f.Messagef("copy the key now, it is not shown again:")
		i.plaintext = token.Reveal()
	}
	all := output.Map(View(f.Now()), func(i Issued) keys.Key { return i.Key })
	switch p := f.Printer(); {
	case p.Columns == nil && p.Whole() && p.Format != "csv":
		return output.Item(p, jsonView, i)
	case p.Whole():
		return output.Item(p, append(output.View[Issued]{plaintextColumn}, all...), i)
	case f.DryRun:
		return output.Item(p, all, i)
	}
	_, err := fmt.Fprintln(f.Out, i.plaintext)
	return err
}
