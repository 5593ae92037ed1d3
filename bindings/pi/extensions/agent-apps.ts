// Agent Apps in Pi: lets bridges take an app's work to Pi, and says what became of that. Pi operates apps by its own shell
// (`a2app`, `agent-app`), guided by the skills and the prompt of this package, so it needs no tools of its own.

import { execFile } from "node:child_process";

const HARNESS = "pi";
const QUICK_MS = 20_000;

type Level = "info" | "warning" | "error";
type Context = { ui: { notify(message: string, level: Level): void } };
type Extension = {
  on(event: "session_start", handler: (event: unknown, ctx: Context) => void | Promise<void>): void;
};
type Outcome = { status: string; said: string };

function registerProfile(): Promise<Outcome> {
  const program = (process.env.INSPAN_CLI ?? "").trim() || "inspan";
  return new Promise((resolve) => {
    execFile(program, ["app", "profile", HARNESS, "--json"], { timeout: QUICK_MS }, (error, stdout) => {
      try {
        const answer = JSON.parse(stdout) as {
          status?: string;
          detail?: string;
          file?: string;
          error?: { message: string };
        };
        resolve({
          status: answer.status ?? "refused",
          said: answer.error?.message || answer.detail || answer.file || "",
        });
      } catch {
        const code = (error as NodeJS.ErrnoException | null)?.code ?? "no answer";
        resolve({ status: "refused", said: `inspan could not be asked (${code}); install it, or set INSPAN_CLI` });
      }
    });
  });
}

export default function agentApps(pi: Extension): void {
  let isTold = false;
  pi.on("session_start", async (_event, ctx) => {
    if (isTold) return;
    isTold = true;
    const { status, said } = await registerProfile();
    if (status === "kept") return;
    ctx.ui.notify(`Agent Apps: bridge profile ${status}. ${said}`.trim(), status === "refused" ? "warning" : "info");
  });
}
