// Package mutants changes database URLs, except for the password, and listens where such a URL may
// lead.
package mutants

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
)

// Mark is the password.
const Mark = "Pa55word-that-is-marked"

// Mutant is a text that was a database URL.
type Mutant struct {
	Text string
	// Marks are the forms in which it may hold the password.
	Marks []string
}

// In returns how often a text holds the password.
func (m Mutant) In(text string) (n int) {
	text = strings.ReplaceAll(text, "\x00", "") // UTF-16 has zero bytes
	for _, mark := range m.Marks {
		n += strings.Count(text, mark)
	}
	return n
}

// around are texts that may come before and after the URL.
var around = []string{
	"\ufeff",
	" ",
	"\t",
	"\n",
	"\r\n",
	"\u00a0",
	"\u200b",
	"\x00",
	"\xff",
	`"`,
	"'",
	"`",
	"“",
	"<",
	"(",
	"[",
	"\\",
	"=",
	";",
	"#",
	"- ",
	"$",
	"URL=",
	"export PETSTORE_DATABASE_URL=",
	"dsn: ",
	"jdbc:",
	"psql ",
	"url ",
	"\nhost=x",
	" x=y",
	"=x",
	"?a=b",
	"\n\n",
	"/",
	":",
}

// replacements replace parts of a text.
var replacements = map[string][]string{
	"postgres": {
		"POSTGRES",
		"Postgresql",
		"postgresql+psycopg",
		"postgresql+psycopg2",
		"postgres+tls",
		"jdbc:postgresql",
		"pgx",
		"mysql",
		"http",
		"postgre",
		"postgress",
		"redis",
		"",
		" postgres",
		"postgres ",
		"pöstgres",
		"p0stgres",
		"x-postgres",
		"postgresql",
	},
	":": {"", ";", "::", ": ", " :", "：", "=", "%3A", ":\n", "@", "\\:"},
	"//": {
		"/",
		"///",
		"////",
		`\\`,
		"%2F%2F",
		" //",
		"// ",
		"／／",
		";//",
		"",
		"/\n/",
		"//?",
		"//@",
		"//#",
		"//=",
		"//localhost/",
		"//x@",
	},
	"@": {"%40", " @", "@ ", "/", "?", ";", "@@", "＠", "@/", "@?"},
	"/db": {
		"//db", "", ";db", "&db", "?db", "#db", " /db", "%2Fdb", "/d b", "/db/", "/db@x", `\db`,
	},
	"?": {"&", ";", "%3F", "#", " ", "??", "?&", "? ", "/?", "", "?x=y&", "?a", "\n"},
	"&": {";", ",", "&amp;", "%26", " ", "\n", "&&", "|", "?", "\u00a0", "\t", "+"},
	" ": {";", ",", "&", "\n", "\t", "\u00a0", "  ", "|", "\x00", " ; ", "\u2003"},
	"=": {":", "=>", " = ", "==", "", "%3D", "+=", "= '", ": ", "\n="},
	"password": {
		"Password",
		"PASSWORD",
		"passwd",
		"pass",
		"pwd",
		"pasword",
		"passwort",
		"pw",
		"pgpassword",
		"PGPASSWORD",
		"sslpassword",
		"secret",
		" password",
		"password ",
		"\"password\"",
		"oauth_client_secret",
		"scram_client_key",
		"password[]",
		"token",
	},
	"sslmode": {"SSLMODE", "ssl_mode", "ssl", "x", "application_name", "options", "sslmode=disable&application_name"},
	"disable": {"", "x", "DISABLE", "disable,", "disable ", "require", "verify-full"},
	"user":    {"User", "login", "username", "usr", "application_name"},
	"host":    {"Host", "HOST", "hots", "hostname", "server", "hst", "address"},
	"port":    {"Port", "prot", "ports"},
}

// encodings change the whole text.
var encodings = []func(text string) Mutant{
	func(text string) Mutant { return inUTF16("\xff\xfe", text, 0) },
	func(text string) Mutant { return inUTF16("\xfe\xff", text, 1) },
	func(text string) Mutant { return inUTF16("", text, 0) },
	func(text string) Mutant { return inBase64(base64.StdEncoding, text) },
	func(text string) Mutant { return inBase64(base64.StdEncoding, text+" ") },
	func(text string) Mutant { return inBase64(base64.StdEncoding, text+"  ") },
	func(text string) Mutant { return inBase64(base64.RawURLEncoding, text) },
	func(text string) Mutant { return inBase64(base64.URLEncoding, text+" ") },
	func(text string) Mutant { return Mutant{url.QueryEscape(text), []string{Mark}} },
	func(text string) Mutant { return Mutant{url.PathEscape(text), []string{Mark}} },
	func(text string) Mutant {
		return Mutant{hex.EncodeToString([]byte(text)), []string{hex.EncodeToString([]byte(Mark))}}
	},
	func(text string) Mutant { return Mutant{fmt.Sprintf("%q", text), []string{Mark}} },
	func(text string) Mutant { return Mutant{strings.ReplaceAll(text, "&", "&amp;"), []string{Mark}} },
	// A byte order mark that was read as Latin-1.
	func(text string) Mutant { return Mutant{"\u00ef\u00bb\u00bf" + text, []string{Mark}} },
}

func inUTF16(mark, text string, first int) Mutant {
	b := []byte(mark)
	for _, unit := range utf16.Encode([]rune(text)) {
		two := [2]byte{}
		two[first], two[1-first] = byte(unit), byte(unit>>8)
		b = append(b, two[:]...)
	}
	return Mutant{string(b), []string{Mark}}
}

// inBase64 has the part of the encoded text that holds the password.
func inBase64(e *base64.Encoding, text string) Mutant {
	encoded, at := e.EncodeToString([]byte(text)), strings.Index(text, Mark)
	return Mutant{encoded, []string{encoded[at*4/3+4 : (at+len(Mark))*4/3-4]}}
}

// Of returns a random mutant of a database URL with that host and port, in one of its forms. The
// same random numbers give the same mutant.
func Of(random *rand.Rand, address string) Mutant {
	host, port, _ := strings.Cut(address, ":")
	forms := []string{
		"postgres://u:" + Mark + "@" + address + "/db?sslmode=disable&connect_timeout=2",
		"postgres://u@" + address + "/db?sslmode=disable&password=" + Mark,
		"postgres://u@" + address + "/db?password=" + Mark + "&sslmode=disable",
		"postgres:///db?host=" + host + "&port=" + port + "&user=u&password=" + Mark + "&sslmode=disable",
		"host=" + host + " port=" + port + " user=u dbname=db sslmode=disable password=" + Mark,
		"password=" + Mark + " host=" + host + " port=" + port + " user=u dbname=db sslmode=disable",
	}
	text := forms[random.IntN(len(forms))]
	for range random.IntN(3) {
		text = replaced(random, text)
	}
	extra := around[random.IntN(len(around))]
	switch random.IntN(5) {
	case 0:
		text = extra + text
	case 1:
		// At the end, it would become part of the password.
		if !strings.HasSuffix(text, Mark) {
			text += extra
		}
	case 2:
		if strings.ContainsAny(extra, "\"'`“") {
			text = extra + text + extra
		}
	}
	if random.IntN(4) == 0 {
		return encodings[random.IntN(len(encodings))](text)
	}
	return Mutant{text, []string{Mark}}
}

// replaced replaces one part of a text outside of the password.
func replaced(random *rand.Rand, text string) string {
	before, after, _ := strings.Cut(text, Mark)
	var parts []string
	for part := range replacements {
		if strings.Contains(before+"\x00"+after, part) {
			parts = append(parts, part)
		}
	}
	slices.Sort(parts)
	part := parts[random.IntN(len(parts))]
	with := replacements[part][random.IntN(len(replacements[part]))]
	if n := strings.Count(before, part); random.IntN(n+strings.Count(after, part)) < n {
		before = replaceOne(random, before, part, with)
	} else {
		after = replaceOne(random, after, part, with)
	}
	if strings.HasSuffix(before, "//u") { // With nothing in between, the password would become a part of the login.
		before += ":"
	}
	return before + Mark + after
}

func replaceOne(random *rand.Rand, text, part, with string) string {
	n, at := random.IntN(strings.Count(text, part)), 0
	for range n {
		at += strings.Index(text[at:], part) + len(part)
	}
	at += strings.Index(text[at:], part)
	return text[:at] + with + text[at+len(part):]
}
