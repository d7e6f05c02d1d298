package contract

import (
	"regexp"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A document's patterns follow ECMA-262. The patterns in use differ from Go's in one escape only.
var codePoint = regexp.MustCompile(`\\u([0-9A-Fa-f]{4})`)

func compileECMA(pattern string) (jsonschema.Regexp, error) {
	return regexp.Compile(codePoint.ReplaceAllString(pattern, `\x{$1}`))
}
