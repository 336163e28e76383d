"""All scenarios."""

from __future__ import annotations

from ..differential import Scenario
from .actions import BINDING, CONNECTING, EVICTING, LIMITING
from .corners import CORNERS, FUZZED_CORNERS, REVIEWS
from .creating import BODIES, CREATING, METADATA, SCHEMAS
from .definitions import FREED_NAMES, INVALID_DEFINITIONS, LIFE, NAME_CONFLICTS
from .deleting import COLLECTIONS, DELETING, DELETING_BUILT_INS
from .formats import FORMATS, QUERIES
from .fuzzed import FUZZED
from .fuzzedoptions import FUZZED_OPTIONS
from .fuzzedwrites import FUZZED_WRITES
from .kindrules import CONFIG_MAP_RULES, EVENT_RULES, LEASE_RULES, SECRET_RULES
from .namespaces import FINALIZING, NAMESPACE
from .patching import BUILT_IN_PATCHES, JSON_PATCHES, MERGING
from .paths import PATHS, UNREADABLE_PATHS
from .reading import PAGES, READING, SELECTING
from .scaling import SCALING
from .unusual import DOUBLED_FIELDS, MEDIA_TYPES, RARE_PATHS
from .updating import BUILT_INS, NO_STATUS, STATUS, UPDATING
from .versions import CLUSTER_SCOPED, EVOLUTION, VERSIONS
from .watching import LEASES_WATCHED, WATCH_ERRORS, WATCHING

SCENARIOS: tuple[Scenario, ...] = (
    CREATING,
    METADATA,
    BODIES,
    SCHEMAS,
    UPDATING,
    BUILT_INS,
    STATUS,
    NO_STATUS,
    MERGING,
    JSON_PATCHES,
    BUILT_IN_PATCHES,
    DELETING,
    BINDING,
    COLLECTIONS,
    CONNECTING,
    EVICTING,
    LIMITING,
    DELETING_BUILT_INS,
    READING,
    FORMATS,
    QUERIES,
    PAGES,
    SELECTING,
    WATCHING,
    WATCH_ERRORS,
    LEASES_WATCHED,
    NAMESPACE,
    FINALIZING,
    INVALID_DEFINITIONS,
    LIFE,
    NAME_CONFLICTS,
    FREED_NAMES,
    VERSIONS,
    EVOLUTION,
    CLUSTER_SCOPED,
    SECRET_RULES,
    CONFIG_MAP_RULES,
    EVENT_RULES,
    LEASE_RULES,
    PATHS,
    FUZZED,
    FUZZED_OPTIONS,
    FUZZED_WRITES,
    CORNERS,
    FUZZED_CORNERS,
    REVIEWS,
    DOUBLED_FIELDS,
    MEDIA_TYPES,
    RARE_PATHS,
    SCALING,
    UNREADABLE_PATHS,
)
