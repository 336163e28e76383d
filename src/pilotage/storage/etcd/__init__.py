from .storage import EtcdStorage as EtcdStorage
