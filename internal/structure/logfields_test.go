package structure_test

import (
	"go/ast"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"petstore.example/internal/test/assert"
)

// retired is a word, or several in a row, that the code no longer uses.
type retired struct {
	old, now string
	// in is the folder in which the word is refused, "" for everywhere: many of these words mean
	// something else elsewhere.
	in string
}

// retiredWords are refused in the names of files, packages and everything that is declared.
// docs/glossary.md has the words to use.
var retiredWords = []retired{
	{old: "flight", now: "batch"},
	{old: "hangar", now: "batchPool"},
	{old: "aboard", now: "refs"},
	{old: "depart", now: "seal"},
	{old: "ground", now: "counter store"},
	{old: "portion", now: "grant"},
	{old: "ledger", now: "local view"},
	{old: "raise", now: "observe", in: "internal/limits"},
	{old: "refusal", now: "denial", in: "internal/limits"},
	{old: "unsure", now: "undecided, unversioned"},
	{old: "unmark", now: "endWrite", in: "internal/limits"},
	{old: "change lasts", now: "WriteIntentTTL"},
	{old: "fleet", now: "cluster"},
	{old: "beat", now: "heartbeat"},
	{old: "silence", now: "FenceTimeout", in: "internal/cluster"},
	{old: "kick", now: "Wake"},
	{old: "holds", now: "Valid", in: "internal/cluster"},
	{old: "away", now: "StoreUnreachable", in: "internal/cluster"},
	{old: "alone", now: "Sole"},
	{old: "wire", now: "httpfast"},
	{old: "hang up", now: "disconnectWatcher"},
	{old: "kept", now: "connCache, cachedPage, the noun of what it is"},
	{old: "near", now: "page cache"},
	{old: "unread", now: "drainBody"},
	{old: "allowance", now: "limitStatus"},
	{old: "gaps", now: "offsets"},
	{old: "because", now: "withMessage"},
	{old: "caused", now: "withCause"},
	{old: "marks", now: "stabilityHeader"},
	{old: "list memory", now: "page cache"},
	{old: "hears", now: "FeedHealthy"},
	{old: "rests", now: "backingOff"},
	{old: "serves outage", now: "serveStale"},
	{old: "successor", now: "replacement", in: "internal/keys"},
	{old: "told", now: "notice"},
	{old: "patience", now: "connectTimeout"},
	{old: "choice", now: "enumFlag"},
	{old: "thing", now: "item"},
	{old: "judged", now: "diagnosis"},
	{old: "talk", now: "messages"},
	{old: "settle", now: "resolve", in: "internal/localpg"},
	{old: "provide", now: "find binaries", in: "internal/localpg"},
	{old: "freeze", now: "Pause"},
	{old: "thaw", now: "Resume"},
	{old: "tie", now: "pdeathsig"},
	{old: "tally", now: "counter"},
	{old: "foretell", now: "Predict"},
	{old: "lately", now: "RateWindow"},
	{old: "stage", now: "env", in: "bench"},
	{old: "house", now: "deployment"},
	{old: "contender", now: "benchCase"},
	{old: "crowd", now: "tenants"},
	{old: "halves", now: "halfLoad"},
	{old: "paced", now: "openLoop"},
	{old: "slot", now: "bucket", in: "internal/usage"},
	{old: "skipped", now: "suppressed", in: "internal/usage"},
	{old: "standing", now: "state", in: "internal/ctl"},
	{old: "problem", now: "failure", in: "internal/ctl"},
	{old: "words", now: "texts", in: "internal/ctl"},
	{old: "about", now: "subject", in: "internal/ctl"},
	{old: "ask", now: "request", in: "internal/limits"},
	{old: "asks", now: "requests", in: "internal/limits"},
	{old: "answer", now: "reply", in: "internal/limits"},
	{old: "expect", now: "Pin", in: "internal/limits"},
	{old: "probe", now: "Ping", in: "internal/limits"},
	{old: "mark", now: "BeginWrite", in: "internal/limits"},
	{old: "account", now: "tenantState", in: "internal/limits"},
	{old: "shown", now: "reported", in: "internal/limits"},
	{old: "world", now: "fixture, testCluster", in: "internal"},
	{old: "account", now: "OS user", in: "internal/localpg"},
	{old: "place", now: "dataDir", in: "internal/localpg"},
	{old: "nowhere", now: "unreachable"},
	{old: "spied", now: "recorded"},
	{old: "truth", now: "consistency"},
	{old: "wall", now: "RLS"},
}

func TestRetiredWordsStayAway(t *testing.T) {
	t.Parallel()
	refuse := func(where, name string) {
		words := split(name)
		for _, r := range retiredWords {
			if !strings.HasPrefix(where, r.in) || !containsRun(words, strings.Fields(r.old)) {
				continue
			}
			t.Errorf("%s: %s has the retired word %q: say %s", where, name, r.old, r.now)
		}
	}
	seen := map[string]bool{}
	for file, text := range sources(t, ".go", ".lua", ".sql", ".sh") {
		file = filepath.ToSlash(file)
		for part := file; part != "."; part = path.Dir(part) {
			if !seen[part] {
				seen[part] = true
				refuse(part, strings.TrimSuffix(path.Base(part), path.Ext(part)))
			}
		}
		if path.Ext(file) != ".go" {
			continue
		}
		set, parsed := parse(t, file, text)
		for _, id := range declared(parsed) {
			refuse(file+":"+position(set, id), id.Name)
		}
	}
}

// TestLogFieldsHaveUnits: zerolog writes a duration in milliseconds, and the name of its field says
// so.
func TestLogFieldsHaveUnits(t *testing.T) {
	t.Parallel()
	found := 0
	for file, text := range sources(t, ".go") {
		for _, field := range regexp.MustCompile(`\.(?:Dur|TimeDiff)\("(\w+)"`).FindAllSubmatch(text, -1) {
			found++
			assert.True(
				t,
				strings.HasSuffix(string(field[1]), "_ms"),
				file,
				"writes",
				string(field[1]),
				"without its unit",
			)
		}
	}
	assert.True(t, found > 0, "log fields that are durations")
}

func position(set *token.FileSet, id *ast.Ident) string {
	_, at, _ := strings.Cut(set.Position(id.Pos()).String(), ":")
	return at
}

// declared returns the names that a file declares: of packages, types, functions, fields,
// parameters, variables and labels.
func declared(file *ast.File) (names []*ast.Ident) {
	names = append(names, file.Name)
	add := func(e ast.Expr) {
		if id, ok := e.(*ast.Ident); ok {
			names = append(names, id)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			names = append(names, n.Name)
		case *ast.TypeSpec:
			names = append(names, n.Name)
		case *ast.ValueSpec:
			names = append(names, n.Names...)
		case *ast.Field:
			names = append(names, n.Names...)
		case *ast.LabeledStmt:
			names = append(names, n.Label)
		case *ast.ImportSpec:
			if n.Name != nil {
				names = append(names, n.Name)
			}
		case *ast.RangeStmt:
			add(n.Key)
			add(n.Value)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					add(e)
				}
			}
		}
		return true
	})
	return names
}

// split returns the words of a name in lower case: of writeIntentTTL write, intent and ttl.
func split(name string) (words []string) {
	runes := []rune(name)
	from := 0
	for i := 1; i <= len(runes); i++ {
		switch {
		case i == len(runes), !unicode.IsLetter(runes[i]), !unicode.IsLetter(runes[i-1]):
		case unicode.IsUpper(runes[i]) && unicode.IsLower(runes[i-1]):
		case unicode.IsUpper(runes[i]) && i+1 < len(runes) && unicode.IsLower(runes[i+1]):
		default:
			continue
		}
		if word := strings.Trim(strings.ToLower(string(runes[from:i])), "_-."); word != "" {
			words = append(words, word)
		}
		from = i
	}
	return words
}

func containsRun(words, run []string) bool {
	for i := range words {
		if i+len(run) <= len(words) && slices.Equal(words[i:i+len(run)], run) {
			return true
		}
	}
	return false
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"writeIntentTTL": {"write", "intent", "ttl"}, "HTTPFast": {"http", "fast"},
		"sim_world_test": {"sim", "world", "test"},
		"x":              {"x"}, "redis2": {"redis", "2"},
	} {
		if got := split(name); !slices.Equal(got, want) {
			t.Errorf("split(%q) = %q, want %q", name, got, want)
		}
	}
}
