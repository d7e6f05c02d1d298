package main

import (
	"fmt"
	"os"
	"strings"
)

// printNotes prints the section of a version in CHANGELOG.md.
func printNotes(version string) error {
	text, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return err
	}
	notes, err := notesOf(string(text), version)
	if err != nil {
		return err
	}
	fmt.Println(notes)
	return nil
}

// notesOf returns the section whose heading begins with the version. It leaves out the heading.
func notesOf(changelog, version string) (string, error) {
	for _, section := range strings.Split("\n"+changelog, "\n## ")[1:] {
		heading, notes, _ := strings.Cut(section, "\n")
		if fields := strings.Fields(heading); len(fields) == 0 || fields[0] != version {
			continue
		}
		if notes = strings.TrimSpace(notes); notes != "" {
			return notes, nil
		}
		return "", fmt.Errorf("CHANGELOG.md says nothing about %s", version)
	}
	return "", fmt.Errorf("CHANGELOG.md has no section %q", "## "+version)
}
