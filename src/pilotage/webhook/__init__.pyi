# The exports of the package, for type checkers and for `__init__.py`. One import to a line.

from pilotage.webhook.admission import AdmissionHandler as AdmissionHandler
from pilotage.webhook.admission import AdmissionRequest as AdmissionRequest
from pilotage.webhook.admission import AdmissionResponse as AdmissionResponse
from pilotage.webhook.admission import allowed as allowed
from pilotage.webhook.admission import denied as denied
from pilotage.webhook.admission import errored as errored
from pilotage.webhook.admission import patch_response as patch_response
from pilotage.webhook.admission import patched as patched
from pilotage.webhook.authentication import AuthenticationWebhook as AuthenticationWebhook
from pilotage.webhook.authentication import TokenRequest as TokenRequest
from pilotage.webhook.authentication import TokenResponse as TokenResponse
from pilotage.webhook.authentication import authenticated as authenticated
from pilotage.webhook.authentication import unauthenticated as unauthenticated
from pilotage.webhook.builder import WebhookBuilder as WebhookBuilder
from pilotage.webhook.certificates.files import CertificateFiles as CertificateFiles
from pilotage.webhook.conversion.conversions import Conversion as Conversion
from pilotage.webhook.conversion.migration import migrate_storage_version as migrate_storage_version
from pilotage.webhook.declarations import RegistrationOptions as RegistrationOptions
from pilotage.webhook.manifests import ManifestOptions as ManifestOptions
from pilotage.webhook.multi import multi_mutating_handler as multi_mutating_handler
from pilotage.webhook.multi import multi_validating_handler as multi_validating_handler
from pilotage.webhook.options import WebhookServerOptions as WebhookServerOptions
from pilotage.webhook.server import WebhookServer as WebhookServer
from pilotage.webhook.typed import CustomDefaulter as CustomDefaulter
from pilotage.webhook.typed import CustomValidator as CustomValidator
from pilotage.webhook.webhook import AdmissionWebhook as AdmissionWebhook

__all__: list[str]
