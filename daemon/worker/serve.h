/* SPDX-License-Identifier: MIT */
/*
 * The parent of all workers: `plugin-worker --launcher`. One thread, so that
 * fork is safe; started once by the daemon, which so never forks itself.
 */
#ifndef KP_WORKER_SERVE_H
#define KP_WORKER_SERVE_H

enum { LAUNCHER_SOCKET = 3 };

/*
 * Serves the SOCK_SEQPACKET socket LAUNCHER_SOCKET until its end; then kills and
 * reaps all workers. Messages are JSON, one a packet:
 *   {"run": id}   with descriptors [job text, report, output, those of the job]
 *   {"kill": id}
 * and back
 *   {"started": id}, {"ended": id, "status": wait status, "lingered": bool},
 *   {"lost": id, "message": text}: the job could not be run, or its keeper failed,
 *   {"bereaved": id}: its keeper was killed. Nobody but the worker has a reason to,
 *   {"refused": id, "text": what it may not, "deadly": it is killed for it}.
 * Returns the exit status.
 */
int serve(void);

#endif
