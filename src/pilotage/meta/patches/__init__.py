"""Patches as pure functions over documents: JSON Patch, JSON merge patch, strategic merge patch, and their diffs."""

from pilotage.meta.patches.diff import json_diff as json_diff
from pilotage.meta.patches.diff import merge_diff as merge_diff
from pilotage.meta.patches.diff import strategic_diff as strategic_diff
from pilotage.meta.patches.lookup import MergeSchema as MergeSchema
from pilotage.meta.patches.lookup import ModelMergeSchema as ModelMergeSchema
from pilotage.meta.patches.lookup import OpenAPIMergeSchema as OpenAPIMergeSchema
