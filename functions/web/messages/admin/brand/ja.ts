import type { BrandMessages } from "./en.ts";

export const ja: BrandMessages = {
  title: "ブランド",
  text: "ページ、メール、埋め込みボードの色とロゴです。",
  now: "現在の見た目",
  logoOf: (name: string) => `${name} のロゴ`,
  noLogo: "ロゴなし",
  noColor: "既定の色",
  sample: "ボタン",
  color: "色",
  colorHint: "例: #5b5bd6。空欄なら既定の色です。文字が読みにくい場合は近い色を使います。",
  logo: "ロゴのアドレス",
  logoHint:
    "https のアドレスにある画像（できれば正方形）。空欄ならロゴなしです。訪問者のブラウザーがそこから読み込みます。",
  file: "ロゴ",
  fileHint: "512 KiB 以下の PNG、JPEG、WebP 画像。できれば正方形。以前の画像と置き換わります。",
  upload: "アップロード",
  fileMissing: "画像を選択してください。",
  fileType: "PNG、JPEG、WebP の画像ではありません。",
  tooLarge: "画像が 512 KiB、または幅か高さが 2,048 ピクセルを超えています。小さくしてください。",
  remove: "ロゴを削除",
  removeHint: "アップロードした画像は削除されます。送信済みのメールにも表示されなくなります。",
  save: "保存",
  done: {
    saved: "ブランドを保存しました。",
    uploaded: "ロゴをアップロードしました。",
  },
};
