// Who this process is in its job, and the group of all its processes.
#pragma once
