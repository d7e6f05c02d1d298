package keys

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Errors of CheckText. They never contain the text.
var (
	// ErrTextContainsKey: the text contains something that looks like an API key.
	ErrTextContainsKey = errors.New("the text contains what looks like an API key")
	// ErrTextCharacter: the text contains a control or format character, which the error names.
	ErrTextCharacter = errors.New("the text contains a character that is invisible or changes how text is shown")
	// ErrTextBlank: the text shows nothing.
	ErrTextBlank = errors.New("the text has only blanks")
)

// tokenForm has no word boundaries: a key is still a secret next to other characters.
var tokenForm = regexp.MustCompile(`pst_(live|test)_[0-9A-Za-z]{36}`)

// FindTokens returns the keys in a text, such as a line of a log or JSON, each once. A key must
// have the form of a key and a correct checksum.
func FindTokens(text string) (found []Token) {
	for _, form := range tokenForm.FindAllString(text, -1) {
		token, err := ParseToken(form)
		if err == nil && !slices.ContainsFunc(found, func(t Token) bool { return t.digest == token.digest }) {
			found = append(found, token)
		}
	}
	return found
}

// CheckText checks a text that is kept and shown to others: the name of a key, a reason, an actor.
// It returns ErrTextContainsKey if the text contains the form of a key, whether or not that key was
// issued.
//
// It returns ErrTextCharacter if the text has a character that can make one text look like another:
// a control or format character, such as a bidirectional one, or a line or paragraph separator. It
// returns ErrTextBlank for a text that is not empty but shows nothing. Joiners are allowed within
// emoji, and within words of non-Latin scripts, which need them.
func CheckText(text string) error {
	if tokenForm.MatchString(text) {
		return ErrTextContainsKey
	}
	if !utf8.ValidString(text) {
		return fmt.Errorf("%w: invalid UTF-8", ErrTextCharacter)
	}
	before, blank := rune(0), text != ""
	for _, r := range text {
		joins := isJoiner(r) && before > unicode.MaxLatin1 && !isJoiner(before)
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && !joins {
			return fmt.Errorf("%w: %U", ErrTextCharacter, r)
		}
		before, blank = r, blank && isBlank(r)
	}
	if blank {
		return ErrTextBlank
	}
	return nil
}

// isBlank reports whether r shows nothing: a space, a character that Unicode displays as nothing
// where it is not supported, or the empty Braille pattern.
func isBlank(r rune) bool {
	return unicode.IsSpace(r) || r == '\u2800' ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// TextProblem says what is wrong with a text of 1 to most characters, "" for nothing. It names the
// character, and never a key.
func TextProblem(text string, most int) string {
	var what string
	err := CheckText(text)
	switch n := utf8.RuneCountInString(text); {
	case n == 0 || n > most:
		what = fmt.Sprint("it has ", n)
	case errors.Is(err, ErrTextContainsKey):
		what = "it has what looks like one"
	case errors.Is(err, ErrTextBlank):
		what = "it has blanks alone"
	case err != nil:
		what = strings.Replace(strings.TrimPrefix(err.Error(), ErrTextCharacter.Error()+": "), "U+", "it has U+", 1)
	default:
		return ""
	}
	return fmt.Sprintf(
		"1 to %d characters, not only blanks, without control and format characters and without an API key: %s",
		most,
		what,
	)
}

// isJoiner reports whether r is ZERO WIDTH NON-JOINER or ZERO WIDTH JOINER.
func isJoiner(r rune) bool { return r == '\u200C' || r == '\u200D' }
