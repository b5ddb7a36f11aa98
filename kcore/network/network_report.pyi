from kcore.logger import Logger

LOG: Logger
