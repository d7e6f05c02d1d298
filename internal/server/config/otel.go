package config

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"petstore.example/internal/envvars"
	"petstore.example/internal/tracing"
)

// tracingVariable returns the value of an OpenTelemetry variable. A secret's value may be in a
// file.
func tracingVariable(p *Problems, found Warnings, variables map[string]string, name string) string {
	if !tracing.IsSecret(name) {
		return variables[name]
	}
	s, err := envvars.ReadSecret(func(name string) string { return variables[name] }, name)
	if err != nil {
		p.add("%v", err)
	}
	if s.Warning != "" {
		found.Add("secrets", s.Warning)
	}
	return s.Value
}

// TracingVariables returns the variables of OpenTelemetry in an environment, sorted.
func TracingVariables(environ []string) []string {
	all := slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return !strings.HasPrefix(v, "OTEL_") })
	slices.Sort(all)
	return all
}

// printTracing prints the OpenTelemetry variables in an environment, without secrets.
func printTracing(to io.Writer, environ []string) {
	for _, variable := range TracingVariables(environ) {
		name, v, _ := strings.Cut(variable, "=")
		switch {
		case tracing.IsSecret(name), strings.Contains(v, "@"):
			v = redacted
		case strings.HasSuffix(name, envvars.FileSuffix):
			v = fileName(v).String()
		}
		_, _ = fmt.Fprintf(to, "%s=%s\n", name, v)
	}
}
