// The warnings that Kubernetes' type checker gives for ValidatingAdmissionPolicies, one policy in JSON to a line:
//
//	cd hack/cluster && go run ../typecheck/main.go < policies > warnings
//
// kube-controller-manager runs it; a control plane without one does not have these warnings.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kubernetes/pkg/generated/openapi"
)

func main() {
	s := resolver.NewDefinitionsSchemaResolver(openapi.GetOpenAPIDefinitions, scheme.Scheme)
	mapper := meta.NewDefaultRESTMapper(scheme.Scheme.PrioritizedVersionsAllGroups())
	for gvk := range scheme.Scheme.AllKnownTypes() {
		mapper.Add(gvk, meta.RESTScopeNamespace)
	}
	c := &validating.TypeChecker{SchemaResolver: s, RestMapper: mapper}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<20)
	for in.Scan() {
		p := &v1.ValidatingAdmissionPolicy{}
		if err := json.Unmarshal(in.Bytes(), p); err != nil {
			panic(err)
		}
		out, _ := json.Marshal(c.Check(p))
		fmt.Println(string(out))
	}
}
