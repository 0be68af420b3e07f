// What loading UCX does to the whole process, undone.
#pragma once

namespace railwave::transport::ucx {

/// Sends UCX's messages to stderr (UCX's default is stdout, where results go) unless UCX_LOG_FILE
/// says where, and gives SIGHUP and the crash signals that UCX took when it was loaded back to the
/// process. Does its work once per process. Threads: any.
void tame_process();

}  // namespace railwave::transport::ucx
