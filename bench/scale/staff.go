package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed" // staff.sql
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/lib/pq"

	"petstore.example/bench/must"
	"petstore.example/bench/servers"
)

const (
	// staffEntries is how many entries the audit trail has for each key.
	staffEntries = 10
	staffRounds  = 9
	// maxStaff bounds the milliseconds of a command of staff, and maxStaffMemory the MB of one that
	// streams all rows.
	maxStaff, maxStaffMemory = 300, 64
	// staffShown is how many of the commands the table has: the slowest.
	staffShown = 12
)

//go:embed staff.sql
var staffSQL string

// staffCommands are the commands of support, each in the words of staffSubject. Those of a terminal
// print a table.
var staffCommands = []string{
	"find {tenant}",
	"find #{number}",
	"find {email}",
	"find {billing_ref}",
	"find {key}",
	"find {last4}",
	"find {key_name}",
	"find {request}",
	"find {entry}",
	"find {name_part}",
	"find {address_part}",
	"find nothing-has-this-name",
	"why {tenant}",
	"why {key}",
	"why {request}",
	"tenant show {tenant}",
	"tenant list",
	"tenant list --after {tenant}",
	"tenant list --plan pro",
	"tenant list --status suspended",
	"tenant list --search {address_part}",
	"tenant list --search pets",
	"tenant list --inactive 30d",
	"tenant list --without-billing-ref",
	"key show {key}",
	"key list",
	"key list --tenant {tenant}",
	"key list --status active",
	"key list --status expired",
	"key list --status revoked",
	"key list --expires-within 30d",
	"key list --unused 90d",
	"key list --last4 {last4}",
	"key list --search warehouse",
	"key list --search nosuchname",
	"ban list",
	"ban list --tenant {tenant}",
	"ban list --source staff",
	"ban list --since 7d",
	"ban list --past",
	"ban list --past --source staff",
	"audit list",
	"audit list --tenant {tenant}",
	"audit list --since 7d",
	"audit list --until 180d",
	"audit list --login staff_7",
	"audit list --actor person-7@support-3",
	"audit list --action key.revoke",
	"audit list --action plan",
	"audit list --subject {key}",
	"audit list --tenant {tenant} --action key.revoke",
	"audit list --login staff_7 --action plan --since 30d",
	"plan list",
	"plan show pro",
	"plan history {tenant}",
	"plan schedule",
	"plan schedule --tenant {tenant}",
	"usage show --tenant {tenant}",
}

// staffStreams are commands that print all rows, and how many these are; 0 for all keys.
var staffStreams = []string{
	"tenant list -o jsonl",
	"key list -o jsonl",
	"key list -o csv",
	"key list",
	"audit list --since 30d -o jsonl",
}

func staff(ctx context.Context, e *env) *table {
	keys := min(1_000_000, e.maxSize)
	t := &table{
		title: "Commands of staff",
		about: fmt.Sprintf(
			"What a person in support waits for: `petstorectl`, from the start of the process to its end, on %s "+
				"keys of %s tenants, with %s audit entries, failed requests of one key in 100, and usage of one key "+
				"in 5, of nine tenants in ten. ",
			withCommas(int64(keys)),
			withCommas(int64(keys/10)),
			withCommas(int64(keys*staffEntries)),
		) +
			fmt.Sprintf(
				"Lists are tables of 100 rows. %d commands were run %d times, each time of another tenant; these "+
					"are the slowest. The plan is that of the command's slowest statement: its indexes, *all of* a "+
					"table that is read whole, and sorts. The last rows are streams of everything.",
				len(staffCommands),
				staffRounds,
			),
		head: []string{"command", "median ms", "slowest ms", "statements", "peak MB", "plan of the slowest"},
	}
	e.logf("making %s keys and %s audit entries", withCommas(int64(keys)), withCommas(int64(keys*staffEntries)))
	s := newStaffBench(ctx, e, keys)
	s.program = filepath.Join(e.dir, "petstorectl")
	must.Do(servers.Build(ctx, "petstorectl", s.program))
	s.measureCommands(ctx, t)
	s.measureStreams(ctx, t)
	return t
}

// staffBench is the database of staff, and the program.
type staffBench struct {
	*env

	program string
	// owner is the URL of the database's owner, url that of a login in support, and explained that
	// of a superuser whose statements are explained in the log.
	owner, url, explained string
}

// newStaffBench makes and fills the database.
func newStaffBench(ctx context.Context, e *env, keys int) *staffBench {
	s := &staffBench{env: e, owner: must.Get(e.postgres.CreateDatabase(ctx, "staff"))}
	must.Do(servers.Exec(
		ctx,
		s.owner,
		fmt.Sprintf(
			"set bench.keys = %d",
			keys,
		),
		fmt.Sprintf("set bench.entries = %d", keys*staffEntries),
		staffSQL,
		"vacuum analyze",
		"checkpoint",
		`
		create role bench_support login in role petstore_support;
		create role bench_explained superuser login;
		alter role bench_explained set session_preload_libraries = 'auto_explain';
		alter role bench_explained set auto_explain.log_min_duration = 0;
		alter role bench_explained set auto_explain.log_nested_statements = on;
		alter role bench_explained set auto_explain.log_format = json`,
	))
	s.url, s.explained = e.postgres.URL("bench_support", "staff"), e.postgres.URL("bench_explained", "staff")
	return s
}

// staffSubject is a random tenant with a key that has failed requests, by all that commands name
// them by.
func (s *staffBench) staffSubject(ctx context.Context) *strings.Replacer {
	v := must.Get(servers.Value[pq.StringArray](ctx, s.owner, `
		with f as materialized (select * from failed_requests where status = 429 order by request_id offset $1 limit 1)
		select array[t.id::text, t.name, coalesce(t.email, 'billing@' || t.name || '.example'),
			coalesce(t.billing_ref, 'cus_0'), k.id, k.last4,
		       coalesce(nullif(k.name, ''), 'ci'), f.request_id, (select max(number) - $1 from audit_entries)::text]
		from f join tenants t on t.id = f.tenant_id join api_keys k on k.id = f.key_id`, rand.IntN(100)))
	tenant := v[1]
	company, _, _ := strings.Cut(tenant, "-")
	return strings.NewReplacer(
		"{number}",
		v[0],
		"{tenant}",
		tenant,
		"{email}",
		v[2],
		"{billing_ref}",
		v[3],
		"{key}",
		v[4],
		"{last4}",
		v[5],
		"{key_name}",
		v[6],
		"{request}",
		v[7],
		"{entry}",
		v[8],
		"{name_part}",
		tenant[:len(tenant)/2],
		"{address_part}",
		company+tenant[strings.LastIndex(tenant, "-"):]+".ex",
	)
}

func (s *staffBench) measureCommands(ctx context.Context, t *table) {
	subjects := make([]*strings.Replacer, staffRounds)
	for i := range subjects {
		subjects[i] = s.staffSubject(ctx)
	}
	type measured struct {
		ms    float64
		cells []string
	}
	var all []measured
	var slow []string
	var slowest float64
	for _, command := range staffCommands {
		var took []time.Duration
		var memory int64
		for _, subject := range subjects {
			run := s.runCommand(ctx, s.url, staffArgs(command+" -o table", subject))
			took, memory = append(took, run.took), max(memory, run.memory)
		}
		plan := must.Get(parsePlans(s.explain(ctx, staffArgs(command+" -o table", subjects[0]))))
		ms := median(took).Seconds() * 1e3
		all = append(
			all,
			measured{
				ms,
				[]string{
					"`" + command + "`",
					significant(ms),
					millis(slices.Max(took)),
					fmt.Sprint(plan.statements),
					megabytes(memory),
					plan.text,
				},
			},
		)
		slowest = max(slowest, ms)
		if ms > maxStaff {
			slow = append(slow, command)
		}
	}
	slices.SortFunc(all, func(a, b measured) int { return cmp.Compare(b.ms, a.ms) })
	for _, m := range all[:min(staffShown, len(all))] {
		t.add(m.cells...)
	}
	t.bound("ms, the greatest median", slowest, maxStaff)
	if len(slow) > 0 {
		t.verdicts = append(t.verdicts, fmt.Sprintf("over %d ms: %s", maxStaff, strings.Join(slow, ", ")))
	}
}

// measureStreams adds the time and the memory of commands that print everything.
func (s *staffBench) measureStreams(ctx context.Context, t *table) {
	var most int64
	for _, command := range staffStreams {
		run := s.runCommand(ctx, s.url, strings.Fields(command))
		t.add(
			"`"+command+"`",
			millis(run.took),
			millis(run.took),
			"",
			megabytes(run.memory),
			withCommas(run.lines)+" lines",
		)
		most = max(most, run.memory)
	}
	t.bound("MB of the process that prints all rows", float64(most)/1e6, maxStaffMemory)
}

// staffArgs are the arguments of a command about a subject.
func staffArgs(command string, subject *strings.Replacer) []string {
	args := strings.Fields(command)
	for i, arg := range args {
		args[i] = subject.Replace(arg)
	}
	return args
}

func megabytes(bytes int64) string { return significant(float64(bytes) / 1e6) }

// notFound is the exit code of a command that finds nothing.
const notFound = 3

// staffRun is what one run of a command took.
type staffRun struct {
	took time.Duration
	// memory is the greatest resident size in bytes.
	memory int64
	lines  int64
}

// lineCounter counts what a command prints, and keeps none of it.
type lineCounter struct{ lines int64 }

func (c *lineCounter) Write(text []byte) (int, error) {
	c.lines += int64(bytes.Count(text, []byte("\n")))
	return len(text), nil
}

// runCommand runs a command line of petstorectl.
func (s *staffBench) runCommand(ctx context.Context, url string, args []string) staffRun {
	var out lineCounter
	var messages bytes.Buffer
	cmd := exec.CommandContext(ctx, s.program, args...)
	cmd.Env = []string{"PETSTORE_DATABASE_URL=" + url, "PETSTORE_ACTOR=bench", "HOME=" + s.dir}
	cmd.Stdout, cmd.Stderr = &out, &messages
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	if err != nil && cmd.ProcessState.ExitCode() != notFound {
		must.Do(fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, messages.Bytes()))
	}
	return staffRun{took, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss * 1024, out.lines}
}

// explain runs a command once, and returns what the server logged meanwhile: the plans of its
// statements.
func (s *staffBench) explain(ctx context.Context, args []string) string {
	file := s.postgres.LogFile()
	before := must.Get(os.Stat(file)).Size()
	s.runCommand(ctx, s.explained, args)
	// When the explained sessions have ended, they have logged everything.
	for must.Get(servers.Value[bool](ctx, s.owner,
		"select exists (select from pg_stat_activity where usename = 'bench_explained')")) {
		time.Sleep(10 * time.Millisecond)
	}
	return string(must.Get(os.ReadFile(file))[before:])
}

// explainedPlan is how many statements a command has, and the plan of the slowest in short.
type explainedPlan struct {
	statements int
	text       string
}

// planNode is a node of a plan as auto_explain logs it.
type planNode struct {
	Type     string     `json:"Node Type"`
	Relation string     `json:"Relation Name"`
	Index    string     `json:"Index Name"`
	Children []planNode `json:"Plans"`
}

var planRecord = regexp.MustCompile(`(?m)duration: ([0-9.]+) ms  plan:\n((?:\t.*\n)+)`)

// parsePlans reads a log of auto_explain: each record has a line with the duration, and the plan in
// JSON in lines that begin with a tab.
func parsePlans(log string) (p explainedPlan, err error) {
	var slowest float64
	for _, m := range planRecord.FindAllStringSubmatch(log, -1) {
		var record struct{ Plan planNode }
		if err := json.Unmarshal([]byte(m[2]), &record); err != nil {
			return p, fmt.Errorf("read a plan: %w", err)
		}
		var ms float64
		if _, err := fmt.Sscan(m[1], &ms); err != nil {
			return p, err
		}
		if p.statements++; ms >= slowest {
			slowest = ms
			p.text = strings.Join(record.Plan.summary(nil), ", ")
		}
	}
	return p, nil
}

// summary names the indexes that the plan reads, the tables that it reads whole, and sorts, each
// once.
func (n planNode) summary(names []string) []string {
	name := ""
	switch {
	case n.Index != "":
		name = n.Index
	case n.Type == "Seq Scan":
		name = "all of " + n.Relation
	case n.Type == "Sort":
		name = "sort"
	}
	if name != "" && !slices.Contains(names, name) {
		names = append(names, name)
	}
	for _, child := range n.Children {
		names = child.summary(names)
	}
	return names
}
