package ctl

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/key"
	"petstore.example/internal/ctl/plan"
	"petstore.example/internal/ctl/usage"
	"petstore.example/internal/ctl/why"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

const docFile = "../../docs/petstorectl.md"

func readDoc(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(docFile)
	assert.NoError(t, err)
	return string(text)
}

func TestDocNamesEveryCommandAndFlag(t *testing.T) {
	t.Parallel()
	doc := readDoc(t)
	eachCommand(newCmdRoot(cmdutil.NewFactory(&cmdutil.IOStreams{})), func(c *cobra.Command) {
		if c.HasSubCommands() {
			return
		}
		if !strings.Contains(doc, c.CommandPath()) &&
			!strings.Contains(strings.ReplaceAll(doc, "\n", " "), c.CommandPath()) {
			t.Errorf("%s does not name %q", docFile, c.CommandPath())
		}
		if c.Example == "" {
			t.Errorf("%q has no example", c.CommandPath())
		}
		if c.ValidArgsFunction == nil && c.ValidArgs == nil && c.Name() != "help" {
			t.Errorf("%q completes file names", c.CommandPath())
		}
	})
}

// TestDocListsTheMembers: the table of members has those of each command in their order.
func TestDocListsTheMembers(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(readDoc(t), "| command | members ")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| (.*?) \| (.*) \|$`).FindAllStringSubmatch(table, -1) {
		noun := ""
		for _, name := range strings.Split(strings.ReplaceAll(row[1], "`", ""), ", ") { // `tenant list`, `create`
			if before, _, ok := strings.Cut(name, " "); ok {
				noun = before + " "
			} else {
				name = noun + name
			}
			rows[name] = row[2]
		}
	}
	those, member := regexp.MustCompile("those of `([a-z ]+)`"), regexp.MustCompile("`([a-z0-9_]+)`")
	check := func(name string, want []string) {
		row := those.ReplaceAllStringFunc(
			rows[name],
			func(other string) string { return rows[strings.Split(other, "`")[1]] },
		)
		var members []string
		for _, found := range member.FindAllStringSubmatch(row, -1) {
			if !slices.Contains(members, found[1]) {
				members = append(members, found[1])
			}
		}
		assert.DeepEqual(t, members[:min(len(members), len(want))], want, docFile, "members of", name)
	}
	others := map[string][]string{ // that are not columns, or only of JSON
		"plan edit --dry-run of numbers":       plan.ImpactView.Names(),
		"versions of plan show":                plan.VersionView.Names(),
		"most_affected of plan edit --dry-run": plan.AffectedView.Names(),
		"why --list":                           why.HitView.Names(),
		"why TENANT":                           why.TenantView.Names(),
		"why KEY-ID":                           why.KeyView.Names(),
		"why -":                                why.KeyView.Names(),
		"why REQUEST-ID":                       why.RequestView.Names(),
		"usage forget":                         usage.ForgottenView.Names(),
		"usage show":                           usage.View(billing.ByTenantAndPlan, "").Names(),
		"key issue":                            key.IssuedView.Names(),
		"key rotate":                           key.RotatedView.Names(),
	}
	for name, names := range others {
		check(name, names)
	}
	eachCommand(newCmdRoot(cmdutil.NewFactory(&cmdutil.IOStreams{})), func(c *cobra.Command) {
		name, columns := strings.TrimPrefix(c.CommandPath(), "petstorectl "), c.Annotations["columns"]
		if others[name] == nil && columns != "" {
			check(name, strings.Split(columns, ","))
		}
	})
}

// TestDocExamples runs the examples of the document in order on one database, and compares the
// output of a terminal. Each run has other IDs, keys and hashes than the document: they are
// translated.
func TestDocExamples(t *testing.T) {
	t.Parallel()
	newDocRun(t).file(t, docFile, "")
}

// file runs the examples of a document, or of one of its sections, and compares the document with
// their output. With UPDATE_SCRIPTS it writes the output into the document.
func (d *docRun) file(t *testing.T, name, section string) {
	t.Helper()
	text, err := os.ReadFile(name)
	assert.NoError(t, err)
	doc := string(text)
	part := doc
	if section != "" {
		level := strings.Index(section, " ")
		part = regexp.MustCompile(
			fmt.Sprintf(`(?ms)^%s\n.*?(^#{2,%d} |\z)`, regexp.QuoteMeta(section), level),
		).FindString(
			doc,
		)
	}
	blocks := regexp.MustCompile("(?s)```console\n(.*?)```")
	if !blocks.MatchString(part) {
		t.Fatalf("%s has no examples in %q", name, section)
	}
	updated := strings.Replace(doc, part, blocks.ReplaceAllStringFunc(part, func(block string) string {
		return "```console\n" + d.block(t, strings.TrimSuffix(strings.TrimPrefix(block, "```console\n"), "```")) + "```"
	}), 1)
	if os.Getenv("UPDATE_SCRIPTS") != "" {
		assert.NoError(t, os.WriteFile(name, []byte(updated), 0o644))
		return
	}
	assert.DeepEqual(t, updated, doc, name, "-document +output")
}

// docRun is one run of the document's examples.
type docRun struct {
	url string
	// actual maps the IDs and keys of the document to those of this run, documented maps them back.
	actual, documented map[string]string
	lastKey            string
	// now is the time of the examples; zero for 20 November 2026, 10:30.
	now time.Time
	// before, if set, is called before each command: what happens meanwhile.
	before func(command string)
	// receivers is the folder of the files *.receiver.
	receivers string
	// login, if set, returns the URL for a command.
	login func(command string) string
}

func newDocRun(t *testing.T) *docRun {
	d := &docRun{url: storetest.New(t).URL, actual: map[string]string{}, documented: map[string]string{}}
	addServer(t, d.url, "live")
	return d
}

var randomID = regexp.MustCompile(`key_[0-9A-Za-z]{16}|pst_(?:live|test)_[0-9A-Za-z]{36}|\b[0-9a-f]{64}\b`)

// block runs the commands of a block and returns the block with their present output.
func (d *docRun) block(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	for example := range strings.SplitSeq(strings.TrimPrefix(text, "$ "), "\n$ ") {
		command, want, _ := strings.Cut(strings.TrimSuffix(example, "\n"), "\n")
		if strings.HasPrefix(command, "petstorectl usage") || strings.HasPrefix(command, "petstorectl plan simulate") {
			d.recordUsage(t)
		}
		if strings.HasPrefix(command, "petstorectl why") || strings.HasPrefix(command, "petstorectl audit") {
			assert.NoError(t, pinAudit(t.Context(), d.url, "2026-11-20T10:30:00Z", "support_jo"))
		}
		if strings.HasPrefix(command, "petstorectl why") {
			d.recordFailed(t)
		}
		if d.before != nil {
			d.before(command)
		}
		got := d.run(t, d.replace(command, d.actual))
		d.match(want, got)
		out.WriteString("$ " + command + "\n" + d.replace(got, d.documented))
	}
	return out.String()
}

// entryNumber is where the number of an audit entry stands, or of two: a change may have many
// entries.
var entryNumber = regexp.MustCompile(`((?:undo(?:es|ne entry| of)?|entry|audit show|--after) +)(\d+)(?:-(\d+))?\b`)

// entryNumbers returns the numbers of audit entries in a text.
func entryNumbers(text string) (numbers []string) {
	for _, m := range entryNumber.FindAllStringSubmatch(text, -1) {
		numbers = append(numbers, m[2])
		if m[3] != "" {
			numbers = append(numbers, m[3])
		}
	}
	return numbers
}

// pair lets this run's text stand for that of the document, and the other way.
func (d *docRun) pair(documented, actual string) {
	if d.documented[actual] == "" && d.actual[documented] == "" {
		d.documented[actual], d.actual[documented] = documented, actual
	}
}

// match pairs the IDs and keys of the document with those of this run, in the order in which they
// first appear.
func (d *docRun) match(want, got string) {
	ids := randomID.FindAllString(want, -1)
	for i, id := range randomID.FindAllString(got, -1) {
		if strings.HasPrefix(id, "pst_") {
			d.lastKey = id
		}
		if i < len(ids) {
			d.pair(ids[i], id)
		}
	}
	numbers := entryNumbers(want)
	for i, number := range entryNumbers(got) {
		if i < len(numbers) {
			d.pair(numbers[i], number)
		}
	}
}

func (d *docRun) replace(text string, with map[string]string) string {
	text = randomID.ReplaceAllStringFunc(text, func(id string) string {
		if other := with[id]; other != "" {
			return other
		}
		return id
	})
	text = entryNumber.ReplaceAllStringFunc(text, func(ref string) string {
		m := entryNumber.FindStringSubmatch(ref)
		return m[1] + regexp.MustCompile(`\d+`).ReplaceAllStringFunc(ref[len(m[1]):], func(number string) string {
			if other := with[number]; other != "" {
				return other
			}
			return number
		})
	})
	// A column shows the last four characters of a key.
	for from, to := range with {
		if strings.HasPrefix(from, "pst_") {
			text = strings.ReplaceAll(text, from[len(from)-4:], to[len(to)-4:])
		}
	}
	return text
}

func (d *docRun) run(t *testing.T, command string) string {
	t.Helper()
	var out, file bytes.Buffer
	stdout := &out
	command, _, toFile := strings.Cut(command, " > ")
	if toFile {
		stdout = &file
	}
	f := cmdutil.NewFactory(&cmdutil.IOStreams{
		In: strings.NewReader(""), Out: stdout, ErrOut: &out, InTTY: true, OutTTY: !toFile, Width: 80,
		ReadPassword: func(context.Context) (string, error) { return d.lastKey, nil },
	})
	f.Clock = func() time.Time {
		if !d.now.IsZero() {
			return d.now
		}
		return time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC)
	}
	url := d.url
	if d.login != nil {
		url = d.login(command)
	}
	f.Getenv = func(name string) string {
		return map[string]string{
			"PETSTORE_DATABASE_URL": url, "PETSTORE_ACTOR": "jo@support-3",
		}[name]
	}
	defer f.Close()
	args := splitCommand(receiverFile.ReplaceAllString(command, " "+d.receivers+"/$1"))
	Run(t.Context(), f, args[1:])
	if toFile && file.Len() == 0 {
		t.Errorf("%s writes an empty file", command)
	}
	// A prompt ends with a space, which editors remove.
	return strings.ReplaceAll(out.String(), " \n", "\n")
}

var receiverFile = regexp.MustCompile(` ([a-z-]+\.receiver)`)

// splitCommand splits a command line with double quotes that are not nested.
func splitCommand(line string) []string {
	var args []string
	for _, word := range regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(line, -1) {
		args = append(args, strings.Trim(word, `"`))
	}
	return args
}

// recordFailed records failed requests of banned keys without a name, as a server would.
func (d *docRun) recordFailed(t *testing.T) {
	t.Helper()
	db, err := sql.Open("postgres", d.url)
	assert.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), `
		insert into failed_requests (tenant_id, server_id, number, key_id, at, request_id, code, plan, limited_by,
			allowed, resets_at, partial, method, route, suppressed, status, reason, took_micros)
		select tenant_id, 'server', row_number() over (), id, timestamptz '2026-11-20 10:29:50Z' + n * interval
			'1 second', 'd4s6v8qk3m5t0b2n7c1' || n,
		       'key_banned', 'enterprise', '', 0, '2026-11-20 11:30Z', false, 'GET', '/v1/pets', 100 * n, 429, '', 250
		from api_keys k, generate_series(0, 1) n where name = '' and exists (select from bans b where b.key_id = k.id
			and lifted_at is null)
		on conflict do nothing`)
	assert.NoError(t, err)
}

// recordUsage records usage on two plans for the first key of the tenant acme, as a server would.
func (d *docRun) recordUsage(t *testing.T) {
	t.Helper()
	db, err := sql.Open("postgres", d.url)
	assert.NoError(t, err)
	defer db.Close()
	for hour, row := range map[string]string{
		"2026-11-19 22:00Z": "'pro', 8030, 12",
		"2026-11-20 09:00Z": "'business', 44100, 0",
	} {
		_, err := db.ExecContext(t.Context(), fmt.Sprintf(`
			select test_usage(tenant_id, '%s', id, %s) from api_keys k where name = 'ci' and not exists (select from
				usage_hourly u where u.key_id = k.id and u.hour = '%[1]s')`, hour, row))
		assert.NoError(t, err)
	}
}
