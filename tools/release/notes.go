package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

var notesHeading = regexp.MustCompile(`(?m)^## .*$`)

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

// notesOf returns the section whose heading begins with the version, without the heading.
func notesOf(changelog, version string) (string, error) {
	at := notesHeading.FindAllStringIndex(changelog, -1)
	for i, section := range at {
		if fields := strings.Fields(changelog[section[0]:section[1]]); len(fields) < 2 || fields[1] != version {
			continue
		}
		end := len(changelog)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		if notes := strings.TrimSpace(changelog[section[1]:end]); notes != "" {
			return notes, nil
		}
		return "", fmt.Errorf("CHANGELOG.md says nothing about %s", version)
	}
	return "", fmt.Errorf("CHANGELOG.md has no section %q", "## "+version)
}
