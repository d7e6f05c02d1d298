package cmdutil

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"petstore.example/internal/ctl/output"
	"petstore.example/internal/envvars"
)

// OutputFlag adds --output, and the flags that choose what is printed and how.
func (f *SharedFlags) OutputFlag(cmd *cobra.Command) {
	EnumFlag(
		cmd,
		&f.Output,
		"output",
		"o",
		"output `FORMAT`: table, json, jsonl or csv",
		"table",
		"json",
		"jsonl",
		"csv",
	)
	cmd.Flags().Var(&parsedValue{set: func(text string) (err error) {
		f.columns, err = parseColumns(text, columnsOf(cmd))
		return err
	}}, "columns", "print only the columns `NAMES`, such as a,b")
	completeFlagFunc(cmd, "columns", completeColumns)
	ParsedFlag(
		cmd,
		&f.filter,
		"jq",
		"",
		"print what the jq `EXPRESSION` makes of the JSON",
		func(text string) (*output.Filter, error) {
			return output.ParseFilter(text, cmd.Context)
		},
	)
	zoneFlag(cmd, &f.zone, "local", "show times in this machine's time zone", time.Local)
	zoneFlag(cmd, &f.zone, "utc", "show exact times in UTC, not relative ones", time.UTC)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return f.checkOutput(cmd) }
}

func zoneFlag(cmd *cobra.Command, zone **time.Location, name, usage string, value *time.Location) {
	cmd.Flags().BoolFunc(name, usage, func(string) error {
		*zone = value
		return nil
	})
}

// checkOutput refuses flags that have no effect together.
func (f *SharedFlags) checkOutput(cmd *cobra.Command) error {
	local, utc := cmd.Flags().Changed("local"), cmd.Flags().Changed("utc")
	forPrograms := f.filter != nil || (f.Output != "" && f.Output != "table")
	switch {
	case f.filter != nil && f.Output != "" && f.Output != "json" && f.Output != "jsonl":
		return UsageErrorf(
			"--jq can't be used with --output %s",
			f.Output,
		).WithHint("it reads JSON: omit --output, or use -o jsonl to filter item by item")
	case local && utc:
		return UsageErrorf("--local can't be used with --utc")
	case (local || utc) && forPrograms:
		return UsageErrorf("--local and --utc are for tables").WithHint("other formats have RFC 3339 times in UTC")
	}
	return nil
}

const columnsKey = "columns"

// SetColumns sets the names of the columns that a command can print, so that --columns refuses
// others before anything is done.
func SetColumns(cmd *cobra.Command, names []string) *cobra.Command {
	return annotate(cmd, columnsKey, strings.Join(names, ","))
}

// columnsOf returns nil for a command whose columns depend on its flags. They are checked when they
// are printed.
func columnsOf(cmd *cobra.Command) []string {
	if names := cmd.Annotations[columnsKey]; names != "" {
		return strings.Split(names, ",")
	}
	return nil
}

func parseColumns(text string, known []string) ([]string, error) {
	names := strings.Split(text, ",")
	for i, name := range names {
		switch {
		case name == "":
			return nil, fmt.Errorf("%q is not a list of names such as a,b", text)
		case slices.Contains(names[:i], name):
			return nil, fmt.Errorf("column %q is named twice", name)
		case known != nil && !slices.Contains(known, name):
			return nil, output.ColumnError{Name: name, Known: known}
		}
	}
	return names, nil
}

// completeColumns completes the last name of a list.
func completeColumns(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	before := typed[:strings.LastIndex(typed, ",")+1]
	var completions []string
	for _, name := range columnsOf(cmd) {
		if !slices.Contains(strings.Split(before, ","), name) {
			completions = append(completions, before+name)
		}
	}
	return completions, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// AsksForJSON tells whether a command line, even a wrong one, has --output json or jsonl. Its error
// is then an object.
func AsksForJSON(args []string) bool {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	format := flags.StringP("output", "o", "", "")
	flags.BoolP("help", "h", false, "")
	// The command itself reports what is wrong with the command line.
	_ = flags.Parse(args)
	_, ok := envvars.Word(*format, "json", "jsonl")
	return ok
}
