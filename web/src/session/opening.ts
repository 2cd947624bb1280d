/** Opens a session of the list, wherever it stands in it. */
import { notices } from "../parts/notices.svelte";
import { router } from "../router.svelte";
import { t } from "../texts";
import { type Listed, sessions } from "./sessions.svelte";

/** Resolves to whether it is shown; why it is not is told. */
export async function openListed(session: Listed): Promise<boolean> {
  if (session.isOutside) {
    notices.notice("warning", t("sessions.outside.text", { folder: session.cwd }), t("sessions.outside.next", { folder: session.cwd }));
    return false;
  }
  const id = await notices.try(async () => (session.state === "stored" && session.file !== undefined ? await sessions.resume(session.file) : session.id));
  if (id === undefined) {
    return false;
  }
  router.go({ page: "session", session: id, view: "chat" });
  return true;
}
