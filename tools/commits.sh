#!/usr/bin/env bash
# Refuses commits that nobody can review: a subject over 72 characters, or over 60 files unless the body says
# "Mechanical: yes" (a rename, a move). Older commits than the first one named here are as they are.
set -euo pipefail
first=04ceb10d3299054b3ccdb634879d7b9a48289104
git merge-base --is-ancestor "$first" HEAD 2>/dev/null || exit 0 # no git, or a shallow clone
bad=0
for commit in $(git rev-list --no-merges "$first..HEAD"); do
	subject=$(git show -s --format=%s "$commit")
	files=$(git diff-tree --no-commit-id --name-only -r "$commit" | wc -l)
	if [ ${#subject} -gt 72 ]; then
		echo "${commit:0:9}: the subject has ${#subject} characters, more than 72: $subject" >&2
		bad=1
	fi
	if [ "$files" -gt 60 ] && ! git show -s --format=%b "$commit" | grep -q '^Mechanical: yes'; then
		echo "${commit:0:9}: $files files, more than 60: split it, or say \"Mechanical: yes\" if it only moves: $subject" >&2
		bad=1
	fi
done
exit $bad
