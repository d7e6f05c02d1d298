package tracing

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Query begins the span of a statement in Postgres, which it names by what the statement does to which table: "select pets". It never
// shows an argument. See start for end.
func Query(ctx context.Context, statement string) (_ context.Context, end func(error)) {
	if ctx.Value(contextKey{}) == nil {
		return ctx, nil
	}
	name := summary(statement)
	return start(ctx, name, []Attr{String("db.system.name", "postgresql"), String("db.query.summary", name)})
}

// Script begins the span of a script in Redis. See start for end.
func Script(ctx context.Context, script string) (_ context.Context, end func(error)) {
	if ctx.Value(contextKey{}) == nil {
		return ctx, nil
	}
	return start(ctx, "EVALSHA "+script, []Attr{
		String("db.system.name", "redis"), String("db.operation.name", "EVALSHA"), String("db.stored_procedure.name", script),
	})
}

// summaries are those of statements that were traced. A server has some dozens.
var summaries sync.Map

func summary(statement string) string {
	if s, ok := summaries.Load(statement); ok {
		return s.(string)
	}
	s := summarize(statement)
	summaries.Store(statement, s)
	return s
}

var (
	// notWords are comments and texts.
	notWords = regexp.MustCompile(`--[^\n]*|'[^']*'`)
	words    = regexp.MustCompile(`[a-z_][a-z0-9_.]*|[()]`)
)

// summarize returns the operation of a statement and the table or function that it is about: the first that it changes, otherwise the first
// that it reads.
func summarize(statement string) string {
	all := words.FindAllString(strings.ToLower(notWords.ReplaceAllString(statement, "")), -1)
	at := func(i int) string {
		if i < 0 || i >= len(all) {
			return ""
		}
		return all[i]
	}
	// By the names of "with".
	known := []string{"(", "", "lateral", "only", "unnest"}
	for i, w := range all {
		if w == "as" && (at(i+1) == "(" || at(i+1) == "materialized") {
			known = append(known, at(i-1))
		}
	}
	for i, w := range all {
		switch {
		case w == "insert" && at(i+1) == "into", w == "delete" && at(i+1) == "from":
			return w + " " + at(i+2)
		case w == "update" && !slices.Contains([]string{"for", "key", "do", "or"}, at(i-1)):
			return w + " " + at(i+1)
		}
	}
	for i, w := range all {
		if (w == "from" || w == "join") && !slices.Contains(known, at(i+1)) {
			return "select " + at(i+1)
		}
	}
	for i, w := range all {
		if i > 0 && at(i+1) == "(" && at(i-1) == "select" {
			return "select " + w
		}
	}
	return at(0)
}
