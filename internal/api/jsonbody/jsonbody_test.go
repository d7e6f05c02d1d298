package jsonbody_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"petstore.example/internal/api/jsonbody"
)

// status is an enum with two values.
type status string

func parseStatus(s string) (status, bool) { return status(s), s == "available" || s == "sold" }

// decode reads {name, categoryId, status?}.
func decode(body string, strict bool) (name *string, category *int64, s *status, err error) {
	o, err := jsonbody.Read([]byte(body), strict, "name", "categoryId", "status")
	if err != nil {
		return nil, nil, nil, err
	}
	o.Require("name")
	name = o.Text("name")
	o.Require("categoryId")
	category = o.Integer("categoryId")
	s = jsonbody.Enum(o, "status", parseStatus, "available, sold")
	return name, category, s, o.Err()
}

// deep nests that many objects, the outermost included.
func deep(n int) string {
	return strings.Repeat(`{"a":`, n-1) + `{"name":"Rex","categoryId":7}` + strings.Repeat("}", n-1)
}

// nested is a good body with an unknown member of n nested arrays.
func nested(n int) string {
	return `{"name":"Rex","categoryId":7,"x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
}

func TestInvalidBodies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		syntax     bool
		message    string
	}{
		{"white space", " \n\t", true, "white space"},
		{"array", "[]", false, "object, not an array"},
		{"array of an object", `[{"name":"Rex","categoryId":7}]`, false, "object, not an array"},
		{"string", `"Rex"`, false, "not a string"},
		{"number", "5", false, "not a number"},
		{"true", "true", false, "not a boolean"},
		{"null", "null", true, "not null"},
		{"empty object", "{}", false, "name is required; categoryId is required."},
		{"name missing", `{"categoryId":7}`, false, "name is required."},
		{"name in capitals", `{"NAME":"Rex","categoryId":7}`, false, "name is required."},
		{"category missing", `{"name":"Rex"}`, false, "categoryId is required."},
		{"category in lower case", `{"name":"Rex","categoryid":7}`, false, "categoryId is required."},
		{"name null", `{"name":null,"categoryId":7}`, true, "name must not be null"},
		{"category null", `{"name":"Rex","categoryId":null}`, true, "categoryId must not be null"},
		{"status null", `{"name":"Rex","categoryId":7,"status":null}`, true, "status must not be null"},
		{"name an object", `{"name":{},"categoryId":7}`, false, "name must be a string, not an object"},
		{"name a number", `{"name":5,"categoryId":7}`, false, "name must be a string, not a number"},
		{"category a string", `{"name":"Rex","categoryId":"7"}`, false, "categoryId must be an integer, not a string"},
		{"category an array", `{"name":"Rex","categoryId":[7]}`, false, "categoryId must be an integer, not an array"},
		{"category with a fraction", `{"name":"Rex","categoryId":1.5}`, false, "categoryId must be an integer"},
		{"category a tenth", `{"name":"Rex","categoryId":1e-1}`, false, "categoryId must be an integer"},
		{"category past int64", `{"name":"Rex","categoryId":9223372036854775808}`, false,
			"categoryId must be a 64-bit integer"},
		{"category huge", `{"name":"Rex","categoryId":1e999999999}`, false, "categoryId must be a 64-bit integer"},
		{"category tiny", `{"name":"Rex","categoryId":1e-999999999999999999999}`, false,
			"categoryId must be an integer"},
		{"category NaN", `{"name":"Rex","categoryId":NaN}`, true, "column 28"},
		{"status in capitals", `{"name":"Rex","categoryId":7,"status":"Available"}`, false,
			"status must be one of available, sold"},
		{"status a number", `{"name":"Rex","categoryId":7,"status":1}`, false, "status must be a string, not a number"},
		{"all wrong at once", `{"name":"Rex","categoryId":1.5,"status":[]}`, false,
			"categoryId must be an integer; status must be a string, not an array."},
		{"name twice", `{"name":"Rex","name":"Mia","categoryId":7}`, true, `"name" appears twice`},
		{"name twice by an escape", `{"name":"Rex","n\u0061me":"Mia","categoryId":7}`, true, `"name" appears twice`},
		{"an unknown name twice", `{"name":"Rex","categoryId":7,"x":1,"x":2}`, true, `"x" appears twice`},
		{"twice deep inside", `{"name":"Rex","categoryId":7,"x":[{"y":1,"y":2}]}`, true, `"y" appears twice`},
		{"a long name twice", `{"` + strings.Repeat("a", 5000) + `":1,"` + strings.Repeat("a", 5000) + `":1}`, true,
			"appears twice"},
		{"bad UTF-8 in an unknown name", "{\"name\":\"Rex\",\"categoryId\":7,\"\xc3\":1}", true, "UTF-8"},
		{"overlong UTF-8", "{\"name\":\"\xc0\x80\",\"categoryId\":7}", true, "UTF-8"},
		{"surrogates in the wrong order", `{"name":"\udc15\ud83d","categoryId":7}`, true, "surrogate"},
		{"comment", `{"name":"Rex",/* */"categoryId":7}`, true, "double quotes"},
		{"33 objects deep", deep(33), true, "deeper than 32"},
		{"33 arrays deep", nested(32), true, "deeper than 32"},
		{"100,000 arrays deep", nested(100_000), true, "deeper than 32"},
	} {
		_, _, _, err := decode(c.body, false)
		if err == nil || !strings.Contains(err.Error(), c.message) || len(err.Error()) > 300 {
			t.Errorf("%s: got %v, want %q", c.name, err, c.message)
		}
		_, syntax := errors.AsType[*jsonbody.SyntaxError](err)
		_, validation := errors.AsType[*jsonbody.ValidationError](err)
		if syntax != c.syntax || validation == c.syntax {
			t.Errorf("%s: got a %T", c.name, err)
		}
	}
}

// TestReasons: the message says where and what was expected, in words for authors of clients.
func TestReasons(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"name":"Rex" "categoryId":7}`:  "expected a comma or }, found '\"' (line 1, column 15).",
		"{\n  \"name\": \"Žofka\"; \n}":  "expected a comma or }, found ';' (line 2, column 18).",
		`{"name":"Rex","categoryId":7,}`: "a comma must not come before } (line 1, column 29).",
		`{"x":[1, ]}`:                    "a comma must not come before ] (line 1, column 8).",
		`{"x":[1 2]}`:                    "expected a comma or ], found '2' (line 1, column 9).",
		`{"x":[1}`:                       "expected a comma or ], found '}' (line 1, column 8).",
		`{"name"=1}`:                     "expected a colon and a value, found '=' (line 1, column 8).",
		`{"name",1}`:                     "expected a colon and a value, found ',' (line 1, column 8).",
		`{"name"}`:                       "expected a colon and a value, found '}' (line 1, column 8).",
		`{"name":}`:                      "expected a value, found '}' (line 1, column 9).",
		`{"name":'Rex'}`:                 "expected a value, found a single quote (line 1, column 9).",
		`{'name':"Rex"}`:                 "expected a name in double quotes, found a single quote (line 1, column 2).",
		`{name:"Rex"}`:                   "expected a name in double quotes, found 'n' (line 1, column 2).",
		`{"name":"Rex",null:1}`:          "expected a name in double quotes, found 'n' (line 1, column 15).",
		`{1:2}`:                          "expected a name in double quotes, found '1' (line 1, column 2).",
		`{,}`:                            "a comma must not come before } (line 1, column 2).",
		`{]`:                             "expected a name in double quotes, found ']' (line 1, column 2).",
		`{faX:1}`:                        "expected a name in double quotes, found 'f' (line 1, column 2).",
		`falsy`:                          "expected an object, which begins with {, found 'f' (line 1, column 1).",
		`}`:                              "expected an object, which begins with {, found '}' (line 1, column 1).",
		`name=Rex`:                       "expected an object, which begins with {, found 'n' (line 1, column 1).",
		"\ufeff{}": "expected an object, which begins with {, found a byte order mark (line " +
			"1, column 1).",
		`{"x":True}`: "expected a value, found 'T' (line 1, column 6).",
		`{"x":trUe}`: "expected true, false or null, found 'U' (line 1, column 8).",
		`{"x":1.}`:   "expected a digit, found '}' (line 1, column 8).",
		`{"x":-a}`:   "expected a digit, found 'a' (line 1, column 7).",
		"{\"x\":\"a\tb\"}": "a string has a control character, which must be written as an escape " +
			"sequence (line 1, column 8).",
		`{"x":"\a"}`:                  "a string has an escape sequence that does not exist (line 1, column 7).",
		`{"x":"\u12"}`:                "a string has an escape sequence that does not exist (line 1, column 7).",
		`{"x":"\ud83d\u0041"}`:        "a string has half a surrogate pair (line 1, column 7).",
		"{\"x\":\"\xff\"}":            "it is not UTF-8 (line 1, column 7).",
		"{\"x\":1}\n\n {":             "more data follows its end (line 3, column 2).",
		`{"x":1}` + "\x00":            "more data follows its end (line 1, column 8).",
		`{"x":"`:                      "it ends unexpectedly (line 1, column 7).",
		"{\n \"x\":[1,\n ":            "it ends unexpectedly (line 3, column 2).",
		" \n ":                        "it contains only white space (line 2, column 2).",
		`{"x":tr`:                     "it ends unexpectedly (line 1, column 8).",
		`{"name":"Rex","name":"Rex"}`: `the member "name" appears twice (line 1, column 15).`,
	} {
		_, err := jsonbody.Read([]byte(body), false)
		if want = "The body is not valid JSON: " + want; err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", body, err, want)
		}
	}
}

func TestStrict(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 100)
	for body, want := range map[string]string{
		`{"id":9,"name":"Rex","categoryId":7,"x":null}`: `unknown members "id", "x": want only ` +
			`name, categoryId, status.`,
		`{"a":1,"b":1,"c":1,"d":1,"e":1,"name":"Rex","categoryId":7}`: `unknown members "a", "b", "c" and 2 ` +
			`more: want only name, categoryId, status.`,
		`{"` + long + `":1,"` + long + `b":1,"name":"Rex","categoryId":7}`: `unknown members "` + long + `", "` +
			long + `…": want only name, categoryId, status.`,
	} {
		if _, _, _, err := decode(body, true); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", body, err, want)
		}
		if name, category, s, err := decode(body, false); err != nil || *name != "Rex" || *category != 7 || s != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestIntegers(t *testing.T) {
	t.Parallel()
	for literal, want := range map[string]int64{
		"1.0":                  1,
		"1e3":                  1000,
		"120E-1":               12,
		"0.0012e+4":            12,
		"-0":                   0,
		"0e999999999":          0,
		"9223372036854775807":  9223372036854775807,
		"-9223372036854775808": -9223372036854775808,
	} {
		_, got, _, err := decode(`{"name":"Rex","categoryId":`+literal+`}`, true)
		if err != nil || *got != want {
			t.Errorf("%s: %v", literal, err)
		}
	}
	if _, _, s, err := decode(`{"name":"Rex","categoryId":7,"status":"sold"}`, true); err != nil || *s != "sold" {
		t.Errorf("status: %v", err)
	}
	if _, _, _, err := decode(nested(31), false); err != nil {
		t.Errorf("32 levels: %v", err)
	}
}

// TestBuffersAreReused: a released buffer holds nothing of the value before, and a failed one
// nothing of its own.
func TestBuffersAreReused(t *testing.T) {
	t.Parallel()
	for range 100 {
		if _, err := jsonbody.Encode([]any{"<&>", func() {}}); err == nil {
			t.Fatal("a function was encoded")
		}
		got, err := jsonbody.Marshal([]string{"<&>"})
		if err != nil || string(got) != "[\"<&>\"]\n" {
			t.Fatalf("got %s, %v", got, err)
		}
	}
}

// TestNullable: a member that may be null, an array of strings, and a boolean.
func TestNullable(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"n":null,"l":null,"s":null,"b":true}`: "true true true [] true",
		`{"l":["a","b"],"b":false}`:             "false false false [a b] false",
		`{"l":[]}`:                              "false false false [] false",
		`{"l":["a",[1,{"x":[]}],"b"]}`:          "l must be an array of strings.",
		`{"l":{}}`:                              "l must be an array, not an object.",
		`{"l":[null],"b":"x"}`:                  "l must be an array of strings; b must be a boolean, not a string.",
		`{"b":null}`:                            "b must not be null (line 1, column 6).",
		`{"l":["a" "b"]}`: `The body is not valid JSON: expected a comma or ], found '"' ` +
			`(line 1, column 11).`,
		`{"l":["a"`: "The body is not valid JSON: it ends unexpectedly (line 1, column 10).",
		`{"l":[` + strings.Repeat("[", 40) + `]}`: "The body is not valid JSON: it is nested deeper than 32 levels " +
			"(line 1, column 37).",
	} {
		o, err := jsonbody.ReadNullable([]byte(body), false, []string{"n", "l", "s"}, "n", "l", "s", "b")
		got := ""
		if err == nil {
			list, n, s := o.Texts("l"), o.Integer("n"), o.Text("s")
			got = fmt.Sprint(o.Null("n"), o.Null("l"), o.Null("s"), list, o.True("b"))
			if err = o.Err(); err == nil && (n != nil || s != nil || (list == nil) != !strings.Contains(body, "[")) {
				t.Errorf("%s: %v %v %v", body, list, n, s)
			}
		}
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", body, got, want)
		}
	}
}
