// Package report prints what a job saw, without what differs from run to run.
package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// Within is the time that anything may take.
const Within = 30 * time.Second

var volatile = []string{"uid", "resourceVersion", "creationTimestamp", "selfLink", "caBundle", "clusterIP", "clusterIPs", "nodePort", "url"}

// uuid is also in the keys of managed fields and in messages.
var uuid = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// Job is what one job works with.
type Job struct {
	Config    *rest.Config
	Namespace string   // its own
	Fixtures  string   // the folder with the fixtures of envtest
	Arguments []string // more arguments of the job
}

// Show prints a line: a label, and a value as JSON.
func (j *Job) Show(label string, value any) {
	var decoded any
	Check(json.Unmarshal([]byte(text(value)), &decoded))
	line := uuid.ReplaceAllString(label+" "+text(masked(decoded)), "<uid>")
	fmt.Println(strings.ReplaceAll(line, j.Namespace, "<namespace>"))
}

// Refused prints how the server refused a request.
func (j *Job) Refused(label string, err error) {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		j.Show(label, "not refused")
	case errors.As(err, &status):
		j.Show(label, status.Status())
	default:
		j.Show(label, err.Error())
	}
}

// Until calls ready until it returns true. An error counts as "not yet", and is reported if that is how it ends.
func Until(ctx context.Context, what string, ready func(context.Context) (bool, error)) {
	ctx, cancel := context.WithTimeout(ctx, Within)
	defer cancel()
	var last error
	for {
		done, err := ready(ctx)
		if done && err == nil {
			return
		}
		if err != nil {
			last = err
		}
		select {
		case <-ctx.Done():
			Check(fmt.Errorf("still waiting for %s; last error: %v", what, last))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Check ends the program if there is an error.
func Check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// masked replaces the values that differ between two runs: uids and versions are only there or not, and so are times.
func masked(value any) any {
	switch value := value.(type) {
	case []any:
		for i, one := range value {
			value[i] = masked(one)
		}
	case map[string]any:
		for key, one := range value {
			switch {
			case one == nil:
				delete(value, key)
			case one != "" && (slices.Contains(volatile, key) || isTime(key)):
				value[key] = "<" + key + ">"
			case key == "managedFields":
				value[key] = inOneOrder(masked(one))
			default:
				value[key] = masked(one)
			}
		}
	}
	return value
}

// inOneOrder sorts managed fields: their own order is that of their times, which differs where a second has passed.
func inOneOrder(entries any) any {
	if entries, ok := entries.([]any); ok {
		slices.SortFunc(entries, func(one, other any) int { return strings.Compare(text(one), text(other)) })
	}
	return entries
}

func text(value any) string {
	encoder := &strings.Builder{}
	json := json.NewEncoder(encoder)
	json.SetEscapeHTML(false)
	Check(json.Encode(value))
	return strings.TrimSpace(encoder.String())
}

func isTime(key string) bool {
	return strings.HasSuffix(key, "Timestamp") || strings.HasSuffix(key, "Time") || strings.HasSuffix(key, "time")
}
