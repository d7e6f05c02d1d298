package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// values makes values of schemas, by chance and yet always the same ones for the same seed.
type values struct {
	*rand.Rand
	*compiler
	// existing are identifiers that exist, by the names of members that hold such ones.
	existing map[string][]string
}

func newValues(seed string, c *compiler) *values {
	var key [32]byte
	copy(key[:], seed)
	return &values{rand.New(rand.NewChaCha8(key)), c, map[string][]string{}}
}

func (v *values) chance(percent int) bool { return v.IntN(100) < percent }

func pick[T any](v *values, from []T) T { return from[v.IntN(len(from))] }

// object is a JSON object whose members have an order.
type object []member

type member struct {
	name  string
	value any // nil, bool, string, json.Number, object or []any
}

// valid makes a value of a schema. Where a schema says more than is understood here, the caller has to look and try again.
func (v *values) valid(s map[string]any) any {
	s = v.resolve(s)
	if all, ok := s["enum"].([]any); ok {
		return pick(v, all)
	}
	switch s["type"] {
	case "integer":
		return json.Number(v.integer(s).String())
	case "string":
		return v.text(s)
	case "object":
		return v.object(s)
	case "array":
		list := make([]any, length(s, "minItems", 0)+v.IntN(5))
		if v.chance(10) {
			list = make([]any, length(s, "maxItems", 9))
		}
		for i := range list {
			list[i] = v.valid(members(s, "items"))
		}
		return list
	}
	panic(fmt.Sprintf("no values of %v", s))
}

// resolve follows a reference, also one that stands alone in allOf.
func (v *values) resolve(s map[string]any) map[string]any {
	if all, ok := s["allOf"].([]any); ok {
		s = all[0].(map[string]any)
	}
	if ref, ok := s["$ref"].(string); ok {
		found, _, err := v.find(strings.Split(strings.TrimPrefix(ref, "#/"), "/"))
		if err != nil {
			panic(err)
		}
		return v.resolve(found)
	}
	return s
}

// bounds are a schema's smallest and largest integer.
func bounds(s map[string]any) (least, most *big.Int) {
	bits := uint(63)
	if s["format"] == "int32" {
		bits = 31
	}
	most = new(big.Int).Lsh(big.NewInt(1), bits)
	least = new(big.Int).Neg(most)
	most.Sub(most, big.NewInt(1))
	if n, ok := s["minimum"].(json.Number); ok {
		least.SetString(n.String(), 10)
	}
	if n, ok := s["maximum"].(json.Number); ok {
		most.SetString(n.String(), 10)
	}
	return least, most
}

// integer likes the ends of the range and small numbers.
func (v *values) integer(s map[string]any) *big.Int {
	least, most := bounds(s)
	one := big.NewInt(1)
	candidates := []*big.Int{least, most, new(big.Int).Add(least, one), new(big.Int).Sub(most, one), big.NewInt(0), one,
		big.NewInt(-1), big.NewInt(1000), big.NewInt(v.Int64N(1000)), big.NewInt(int64(v.Uint64()))}
	candidates = slices.DeleteFunc(candidates, func(n *big.Int) bool { return n.Cmp(least) < 0 || n.Cmp(most) > 0 })
	return pick(v, candidates)
}

// alphabets are of one, two, three and four bytes, with what needs care in JSON and in SQL.
var alphabets = []string{"abcXYZ019", " '\"\\/%_;&<>{}", "äßéЖأ", "日本語क्ष\u2028\u200d", "🐈🐕\U0010ffff", "\t\n\x01\x1f\x7f\u0085\u00a0\ufeff"}

// text makes a string that has at least one letter, unless a pattern alone says what it is like.
func (v *values) text(s map[string]any) string {
	if pattern, ok := s["pattern"].(string); ok && s["maxLength"] == nil {
		return v.matching(pattern)
	}
	least, most := length(s, "minLength", 0), length(s, "maxLength", 60)
	n := least + v.IntN(min(most-least, 20)+1)
	if v.chance(10) {
		n = most
	}
	var b strings.Builder
	for i := range n {
		alphabet := []rune(pick(v, alphabets))
		if i == 0 {
			alphabet = []rune(alphabets[0])
		}
		b.WriteRune(pick(v, alphabet))
	}
	return b.String()
}

func length(s map[string]any, name string, otherwise int) int {
	if n, ok := s[name].(json.Number); ok {
		i, _ := strconv.Atoi(n.String())
		return i
	}
	return otherwise
}

// matching makes a string that matches a regular expression.
func (v *values) matching(pattern string) string {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		panic(err)
	}
	var b strings.Builder
	v.match(&b, parsed)
	return b.String()
}

func (v *values) match(b *strings.Builder, r *syntax.Regexp) {
	switch r.Op {
	case syntax.OpLiteral:
		b.WriteString(string(r.Rune))
	case syntax.OpCharClass:
		i := 2 * v.IntN(len(r.Rune)/2)
		b.WriteRune(r.Rune[i] + v.Int32N(r.Rune[i+1]-r.Rune[i]+1))
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range r.Sub {
			v.match(b, sub)
		}
	case syntax.OpAlternate:
		v.match(b, pick(v, r.Sub))
	case syntax.OpRepeat:
		n := r.Min + v.IntN(min(r.Max-r.Min, 40)+1)
		if v.chance(10) {
			n = r.Max
		}
		for range n {
			v.match(b, r.Sub[0])
		}
	case syntax.OpBeginText, syntax.OpEndText, syntax.OpEmptyMatch:
	default:
		panic(fmt.Sprintf("no strings of %s", r))
	}
}

// object has all members that are required, others by chance, and sometimes some that nobody knows.
func (v *values) object(s map[string]any) object {
	var o object
	required, _ := s["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(members(s, "properties"))) {
		if slices.Contains(required, any(name)) || v.chance(50) {
			o = append(o, member{name, v.memberValue(name, members(s, "properties")[name].(map[string]any))})
		}
	}
	if v.chance(25) {
		o = append(o, member{pick(v, []string{"id", "Name", "NAME", "colour", "", "ключ", "a/b~c"}), v.anything(0)})
	}
	v.Shuffle(len(o), func(i, j int) { o[i], o[j] = o[j], o[i] })
	return o
}

// memberValue is mostly what exists, where something does.
func (v *values) memberValue(name string, s map[string]any) any {
	if known := v.existing[name]; len(known) > 0 && v.chance(70) {
		return json.Number(pick(v, known))
	}
	return v.valid(s)
}

// anything makes any JSON value.
func (v *values) anything(depth int) any {
	switch v.IntN(8 - 2*min(depth, 1)) {
	case 0:
		return nil
	case 1:
		return v.chance(50)
	case 2:
		return json.Number(strconv.FormatFloat(v.NormFloat64(), 'g', -1, 64))
	case 3, 4, 5:
		return v.text(map[string]any{})
	case 6:
		return []any{v.anything(depth + 1), v.anything(depth + 1)}
	default:
		return object{{"nested", v.anything(depth + 1)}}
	}
}

// invalid makes a value that is likely no value of the schema: the caller has to look, and try again.
func (v *values) invalid(s map[string]any) any {
	s = v.resolve(s)
	least, most := bounds(s)
	one := big.NewInt(1)
	number := func(n *big.Int) json.Number { return json.Number(n.String()) }
	return pick(v, []any{
		nil, true, false, "", "x", " ", "\t\n\u2003", "null", object{}, []any{}, []any{v.valid(s)}, json.Number("1.5"), json.Number("-0.1"),
		json.Number("1e400"), number(new(big.Int).Sub(least, one)), number(new(big.Int).Add(most, one)), v.spoiled(s),
		strings.Repeat("ä", length(s, "maxLength", 60)+1+v.IntN(3)), "Rex\x00", "\x00",
	})
}

// spoiled is a good value, changed a little.
func (v *values) spoiled(s map[string]any) any {
	switch good := v.valid(s).(type) {
	case string:
		return pick(v, []string{strings.ToUpper(good), good + " ", " " + good, good + "x", good[:len(good)/2]})
	case json.Number:
		return good.String()
	default:
		return []any{good}
	}
}

// encode writes a value as JSON, in one of the ways in which it can be written.
func (v *values) encode(b *strings.Builder, value any) {
	v.space(b)
	switch value := value.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(value))
	case json.Number:
		b.WriteString(v.spell(value.String()))
	case string:
		v.quote(b, value)
	case []any:
		b.WriteByte('[')
		for i, element := range value {
			v.comma(b, i)
			v.encode(b, element)
		}
		b.WriteByte(']')
	case object:
		b.WriteByte('{')
		for i, m := range value {
			v.comma(b, i)
			v.space(b)
			v.quote(b, m.name)
			v.space(b)
			b.WriteByte(':')
			v.encode(b, m.value)
		}
		b.WriteByte('}')
	}
	v.space(b)
}

func (v *values) comma(b *strings.Builder, i int) {
	if i > 0 {
		b.WriteByte(',')
	}
}

func (v *values) space(b *strings.Builder) {
	if v.chance(5) {
		b.WriteString(pick(v, []string{" ", "\n", "\t", "\r\n  "}))
	}
}

// spell writes a whole number in another way: 20 as 20.0, 2e1 or 200E-1.
func (v *values) spell(number string) string {
	if strings.ContainsAny(number, ".eE") || number == "0" || v.chance(70) {
		return number
	}
	if short := strings.TrimRight(number, "0"); short != "" && short != "-" && v.chance(50) {
		return short + "e" + strconv.Itoa(len(number)-len(short))
	}
	return number + pick(v, []string{".0", ".000", "e0", "E+0", "0e-1"})
}

// quote writes a string, some of its characters escaped.
func (v *values) quote(b *strings.Builder, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < 0x20 || r < 0x10000 && v.chance(5):
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			b.WriteString(string(r))
		}
	}
	b.WriteByte('"')
}

func (v *values) json(value any) string {
	var b strings.Builder
	v.encode(&b, value)
	if !utf8.ValidString(b.String()) {
		panic("made bad UTF-8")
	}
	return b.String()
}
