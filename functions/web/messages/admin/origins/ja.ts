import type { OriginsMessages } from "./en.ts";

export const ja: OriginsMessages = {
  title: "許可されたオリジン",
  text: "これらのオリジンのウェブページは、ブラウザからAPIを呼び出し、埋め込みページをフレームに表示できます。",
  origins: "オリジン",
  hint: "1行に1つ、スキームとポートを含めて入力します。例：https://app.example.org。最大50個。",
  lost: "削除したオリジンのページは、APIの呼び出しもフレームでのボード表示もできなくなります。",
  line: (n: number, problem: string) => `${n}行目：${problem}`,
  save: "保存",
  done: {
    saved: "オリジンを保存しました。",
  },
};
