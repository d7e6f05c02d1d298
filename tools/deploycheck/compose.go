package deploycheck

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// loadCompose reads compose.yaml in deploy, as docker compose does.
func loadCompose(ctx context.Context, deploy string) (*types.Project, error) {
	options, err := cli.NewProjectOptions(
		[]string{filepath.Join(deploy, "compose.yaml")},
		cli.WithEnv([]string{"USER=alice"}),
		cli.WithDefaultProfiles("*"),
	)
	if err != nil {
		return nil, err
	}
	return options.LoadProject(ctx)
}

// checkCompose checks deploy/compose.yaml. The directory docs lists the variables.
func checkCompose(ctx context.Context, deploy, docs string) []string {
	project, err := loadCompose(ctx, deploy)
	if err != nil {
		return []string{err.Error()}
	}
	var f findings
	targets := stages(filepath.Join(deploy, "docker", "Dockerfile"))
	for name, s := range project.Services {
		f.checkService(project, s, jobs(project)[name])
		for variable := range s.Environment {
			f.checkVariable("service "+name, variable, docs)
		}
		if s.Build != nil && !slices.Contains(targets, s.Build.Target) {
			f.add("service %s is built from the target %q: the Dockerfile has %v", name, s.Build.Target, targets)
		}
	}
	return f
}

// jobs returns the services that run to their end: other services wait for that, or only "docker
// compose run" starts them.
func jobs(project *types.Project) map[string]bool {
	ends := map[string]bool{}
	for name, s := range project.Services {
		ends[name] = ends[name] || len(s.Profiles) > 0
		for of, d := range s.DependsOn {
			ends[of] = ends[of] || d.Condition == types.ServiceConditionCompletedSuccessfully
		}
	}
	return ends
}

func (f *findings) checkService(project *types.Project, s types.ServiceConfig, job bool) {
	if !job && (s.HealthCheck == nil || len(s.HealthCheck.Test) == 0 || s.HealthCheck.Disable) {
		f.add("service %s has no health check", s.Name)
	}
	if !job && s.Restart == "" {
		f.add("service %s is not restarted", s.Name)
	}
	for of, d := range s.DependsOn {
		if d.Condition == types.ServiceConditionStarted {
			f.add("service %s does not wait until %s is healthy or has ended", s.Name, of)
		}
		if d.Condition == types.ServiceConditionHealthy && project.Services[of].HealthCheck == nil {
			f.add("service %s waits until %s is healthy, which has no health check", s.Name, of)
		}
	}
	if s.Build != nil &&
		(!s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) ||
			!slices.Contains(s.SecurityOpt, "no-new-privileges:true")) {
		f.add("service %s may do more than it needs: want read_only, cap_drop ALL and no-new-privileges", s.Name)
	}
	if tag := strings.TrimPrefix(s.Image, imageName(s.Image)); tag == "" || tag == ":latest" {
		f.add("service %s has the image %s: want a version", s.Name, s.Image)
	}
	for _, p := range s.Ports {
		if p.HostIP != "127.0.0.1" {
			f.add("service %s publishes port %s to other machines", s.Name, p.Published)
		}
	}
	for _, v := range s.Volumes {
		if _, err := os.Stat(v.Source); v.Type == types.VolumeTypeBind && err != nil {
			f.add("service %s mounts what does not exist: %v", s.Name, err)
		}
		if v.Type == types.VolumeTypeBind && !v.ReadOnly {
			f.add("service %s may write to %s", s.Name, v.Source)
		}
	}
	f.checkNoSecrets(s)
}

// checkNoSecrets refuses passwords in variables, which docker inspect shows.
func (f *findings) checkNoSecrets(s types.ServiceConfig) {
	for name, value := range s.Environment {
		if strings.Contains(name, "PASSWORD") && !strings.HasSuffix(name, "_FILE") ||
			value != nil && regexp.MustCompile(`://[^/]*:[^/]*@`).MatchString(*value) {
			f.add("service %s has a secret in %s: want a file", s.Name, name)
		}
	}
}

// checkVariable refuses a variable that no program of ours reads.
func (f *findings) checkVariable(where, name, docs string) {
	if strings.HasPrefix(name, "PETSTORE_") && !slices.Contains(variables(docs), name) {
		f.add("%s sets %s, which docs/configuration.md and docs/petstorectl.md do not name", where, name)
	}
}

// variables returns the variables that the pages name as code.
func variables(docs string) []string {
	named := map[string]bool{}
	for _, page := range []string{"configuration.md", "petstorectl.md"} {
		text, _ := os.ReadFile(filepath.Join(docs, page)) // a missing page names none
		for _, m := range regexp.MustCompile("`(PETSTORE_[A-Z_]+)[`=]").FindAllStringSubmatch(string(text), -1) {
			named[m[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(named))
}

// stages returns the names of the stages of a Dockerfile.
func stages(path string) (names []string) {
	text, _ := os.ReadFile(path) // a missing file has none
	for _, m := range regexp.MustCompile(`(?m)^FROM .* AS (\S+)$`).FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1])
	}
	return names
}

// imageName returns an image without its tag.
func imageName(image string) string {
	if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
		return image[:i]
	}
	return image
}
