package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

const (
	referenceFile = "docs/reference/petstorectl.md"
	helpDir       = "internal/ctl/gendoc/testdata/help"
)

// generate returns the contents of the files by their paths.
func generate(root *cobra.Command) (map[string]string, error) {
	reference, err := markdown(root)
	if err != nil {
		return nil, err
	}
	files := map[string]string{referenceFile: reference}
	for _, c := range all(root) {
		var help bytes.Buffer
		c.InitDefaultHelpFlag()
		c.SetOut(&help)
		if err := c.Help(); err != nil {
			return nil, err
		}
		files[filepath.Join(helpDir, strings.ReplaceAll(c.CommandPath(), " ", "_")+".txt")] = help.String()
	}
	return files, nil
}

// all returns a command and all below it, including topics of the help.
func all(c *cobra.Command) []*cobra.Command {
	if !c.HasParent() {
		c.InitDefaultHelpCmd()
	}
	list := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if sub.Name() == "help" && c.HasParent() {
			continue // Cobra adds a help command to every group whose page it makes.
		}
		list = append(list, all(sub)...)
	}
	return list
}

// markdown returns the reference: a section for each command.
func markdown(root *cobra.Command) (string, error) {
	var page bytes.Buffer
	page.WriteString("# Reference of petstorectl\n\n" +
		"Made from the commands by `make reference`: do not edit it. [petstorectl.md](../petstorectl.md) explains " +
		"the commands with examples.\n\n")
	var commands, topics []*cobra.Command
	for _, c := range all(root) {
		if c.IsAdditionalHelpTopicCommand() {
			topics = append(topics, c)
		} else {
			commands = append(commands, c)
			fmt.Fprintf(&page, "- [%s](#%s): %s\n", c.CommandPath(), anchor(c.CommandPath()), c.Short)
		}
	}
	for _, c := range topics {
		fmt.Fprintf(&page, "- [%s](#%s): %s\n", c.Name(), anchor("topic "+c.Name()), c.Short)
	}
	for _, c := range commands {
		text, err := section(c)
		if err != nil {
			return "", err
		}
		page.WriteString("\n" + text)
	}
	for _, c := range topics {
		fmt.Fprintf(&page, "\n## Topic %s\n\n```text\n%s\n```\n", c.Name(), strings.TrimSpace(c.Long))
	}
	return page.String(), nil
}

func anchor(heading string) string { return strings.ReplaceAll(strings.ToLower(heading), " ", "-") }

// section is Cobra's page of a command without its list of other commands, which a single page does
// not need.
func section(c *cobra.Command) (string, error) {
	var text bytes.Buffer
	c.DisableAutoGenTag = true
	err := doc.GenMarkdownCustom(c, &text, func(string) string { return "" })
	before, _, _ := strings.Cut(text.String(), "### SEE ALSO")
	before = strings.Replace(before, "### Synopsis\n\n", "", 1)
	return strings.TrimSpace(before) + "\n", err
}

// writeMan writes a man page for each command and each topic.
func writeMan(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // Everybody may read documentation.
		return err
	}
	for _, c := range all(root) {
		if c.IsAdditionalHelpTopicCommand() {
			// The page is made from Markdown, in which only a code block keeps its line breaks.
			c.Long = "    " + strings.ReplaceAll(c.Long, "\n", "\n    ")
		}
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		var page bytes.Buffer
		c.DisableAutoGenTag = true
		header := &doc.GenManHeader{
			Title:   strings.ToUpper(name),
			Section: "1",
			Source:  "petstorectl",
			Manual:  "petstorectl manual",
		}
		if err := doc.GenMan(c, header, &page); err != nil {
			return err
		}
		//nolint:gosec // Everybody may read documentation.
		if err := os.WriteFile(filepath.Join(dir, name+".1"), page.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
