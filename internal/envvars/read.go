package envvars

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const byteOrderMark = "\ufeff"

// The errors of Read complete "it …".
var (
	errUTF16   = errors.New("is UTF-16: save it as UTF-8")
	errNotText = errors.New("is not UTF-8 text")
)

// Read returns a text of a file, a variable or stdin without the byte order marks, blanks and line
// ends around it. The error completes "it …", and holds nothing of the text.
func Read(text string) (string, error) {
	switch {
	case isUTF16(text):
		return "", errUTF16
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "", errNotText
	}
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || string(r) == byteOrderMark }), nil
}

// isUTF16 reports whether a text begins like UTF-16: with its mark, or with two characters of
// ASCII.
func isUTF16(text string) bool {
	if strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") {
		return true
	}
	return len(text) >= 4 && (text[0] == 0) == (text[2] == 0) && (text[1] == 0) == (text[3] == 0) &&
		(text[0] == 0) != (text[1] == 0)
}

// Getenv returns the value of a variable as Clean does, "" if Clean reports a mistake in it.
func Getenv(name string) string {
	value, _ := readValue(os.Getenv(name))
	return value
}

// readValue is Read for a variable. A value of blanks alone is returned as it is, so it does not
// count as unset.
func readValue(value string) (string, error) {
	text, err := Read(value)
	if err == nil && text == "" {
		text = value
	}
	return text, err
}

// Clean returns an environment of the form of os.Environ. Values of PETSTORE_… and OTEL_… are as
// Read returns them, but values of blanks alone are unchanged. mistakes has a sentence for each
// value that it can't read, and the sentences of Unknown.
func Clean(environ []string) (clean, mistakes []string) {
	mistakes = Unknown(environ)
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, Prefix) || strings.HasPrefix(name, "OTEL_") {
			text, err := readValue(value)
			if err != nil {
				mistakes = append(mistakes, fmt.Sprintf("%s %v", name, err))
			}
			variable = name + "=" + text
		}
		clean = append(clean, variable)
	}
	return clean, mistakes
}

// Word returns the word that the text spells, ignoring case.
func Word(text string, words ...string) (string, bool) {
	i := slices.IndexFunc(words, func(word string) bool { return strings.EqualFold(word, text) })
	if i < 0 {
		return "", false
	}
	return words[i], true
}

// Environment returns the kind of deployment that PETSTORE_ENVIRONMENT names, "" if it is not set.
func Environment(getenv func(string) string) (string, error) {
	const name = Prefix + "ENVIRONMENT"
	text := getenv(name)
	word, ok := Word(text, Environments...)
	if text != "" && !ok {
		return "", fmt.Errorf("%s is %q: want %s", name, text, strings.Join(Environments, " or "))
	}
	return word, nil
}

// Environments are the words of PETSTORE_ENVIRONMENT.
var Environments = []string{"production", "staging"}

// Switch is a setting that is on or off.
type Switch bool

// SwitchWords are the words from which a Switch is read.
const SwitchWords = "on or off, true or false, yes or no, 1 or 0"

var errSwitch = errors.New("want " + SwitchWords)

// UnmarshalText reads one of SwitchWords, ignoring case.
func (s *Switch) UnmarshalText(text []byte) error {
	_, on := Word(string(text), "on", "true", "yes", "1")
	_, off := Word(string(text), "off", "false", "no", "0")
	if *s = Switch(on); !on && !off {
		return errSwitch
	}
	return nil
}

// String returns on or off.
func (s Switch) String() string {
	if s {
		return "on"
	}
	return "off"
}

// List returns the items of a list separated by commas, without the blanks around them and without
// empty ones.
func List(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item, _ = Read(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// scheme matches the schemes that CheckURL may name. Any other text before :// may be a password.
var scheme = regexp.MustCompile(`(?i)^[a-z]{0,12}(postgres|pg|sql|redis|http)[a-z0-9+.-]{0,24}$`)

// CheckURL refuses a text that Read refuses. It refuses a text with :// that does not begin like a
// URL with one of the schemes; a text without :// may be no URL. The error completes "it …". It
// holds nothing of the text but the scheme.
func CheckURL(text string, schemes ...string) error {
	const quotes = "\"'`“”‘’«»"
	if _, err := Read(text); err != nil {
		return err
	}
	found, _, isURL := strings.Cut(text, "://")
	first, _ := utf8.DecodeRuneInString(text)
	switch {
	case string(first) == byteOrderMark:
		return errors.New("begins with a byte order mark")
	case strings.ContainsRune(quotes, first):
		return errors.New("is in quotes")
	case !isURL:
		return nil
	case strings.TrimSpace(text) != text:
		return errors.New("has a blank or a line end before or after it")
	case slices.Contains(schemes, found):
		return nil
	case scheme.MatchString(found):
		return fmt.Errorf("is no %s:// URL: the scheme is %s", schemes[0], found)
	}
	return fmt.Errorf("does not begin with %s://", schemes[0])
}
