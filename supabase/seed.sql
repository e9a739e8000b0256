-- Demo data: the feedback board of Routewell, an app for field-service companies.
-- No random(): votes follow from hashes of the keys below, dates count back from now().
-- Counters, the authors' own votes and follows, statuses, events and notifications come from the triggers.

do $$
declare
  missing text;
begin
  select string_agg(wanted, ', ') into missing
  from unnest(array['owner@demo.example', 'member@demo.example', 'alice@demo.example', 'bob@demo.example']) as wanted
  where not exists (select from public.profiles where email = wanted and kind = 'user');

  if missing is not null then
    raise exception 'The demo data needs users that do not exist: %. Sign them up first, then load seed.sql.', missing;
  end if;
end
$$;

-- Sources: what people wrote, and who did what when

create temporary table seed_people (ordinal int generated always as identity, handle text primary key, language text not null, name text not null, email text not null);
insert into seed_people (handle, language, name, email) values
  ('owner', 'en', 'Ingrid Halvorsen', 'owner@demo.example'),
  ('member', 'en', 'Mateo Rivas', 'member@demo.example'),
  ('alice', 'en', 'Alice Fairbank', 'alice@demo.example'),
  ('bob', 'en', 'Bob Tremaine', 'bob@demo.example'),
  ('grace', 'en', 'Grace Whitfield', 'grace.whitfield@example.com'),
  ('tom', 'en', 'Tom Ashdown', 'tom.ashdown@example.com'),
  ('priya', 'en', 'Priya Raghavan', 'priya.raghavan@example.com'),
  ('declan', 'en', 'Declan Kinsella', 'declan.kinsella@example.org'),
  ('amara', 'en', 'Amara Okafor', 'amara.okafor@example.net'),
  ('luke', 'en', 'Luke Hargreaves', 'l.hargreaves@example.com'),
  ('sofie', 'en', 'Sofie Vandenberghe', 'sofie.vdb@example.org'),
  ('marcus', 'en', 'Marcus Delgado', 'marcus.delgado@example.com'),
  ('nina', 'en', 'Nina Halloran', 'nina.halloran@example.net'),
  ('wei', 'en', 'Wei Zhang', 'wei.zhang@example.com'),
  ('rachel', 'en', 'Rachel Stein', 'rachel.stein@example.com'),
  ('omar', 'en', 'Omar Haddad', 'omar.haddad@example.net'),
  ('kirsty', 'en', 'Kirsty McAllister', 'kirsty.mcallister@example.org'),
  ('ben', 'en', 'Ben Whitlock', 'ben.whitlock@example.com'),
  ('joanna', 'en', 'Joanna Kowalska', 'joanna.kowalska@example.net'),
  ('sipho', 'en', 'Sipho Ndlovu', 'sipho.ndlovu@example.com'),
  ('heather', 'en', 'Heather Boyd', 'heather.boyd@example.org'),
  ('arjun', 'en', 'Arjun Mehta', 'arjun.mehta@example.com'),
  ('lena', 'en', 'Lena Sørensen', 'lena.sorensen@example.net'),
  ('pieter', 'en', 'Pieter de Wit', 'pieter.dewit@example.com'),
  ('mei', 'en', 'Mei-Ling Chua', 'meiling.chua@example.org'),
  ('carl', 'en', 'Carl Johansson', 'carl.johansson@example.net'),
  ('fatima', 'en', 'Fatima El Amrani', 'fatima.elamrani@example.com'),
  ('dan', 'en', 'Dan Prescott', 'dan.prescott@example.com'),
  ('ruth', 'en', 'Ruth Abernathy', 'ruth.abernathy@example.org'),
  ('kwame', 'en', 'Kwame Mensah', 'kwame.mensah@example.net'),
  ('elif', 'en', 'Elif Yıldız', 'elif.yildiz@example.com'),
  ('noah', 'en', 'Noah Brandt', 'noah.brandt@example.org'),
  ('siobhan', 'en', 'Siobhán Keane', 'siobhan.keane@example.com'),
  ('stefan', 'de', 'Stefan Brückner', 'stefan.brueckner@example.com'),
  ('katrin', 'de', 'Katrin Vogel', 'katrin.vogel@example.net'),
  ('joerg', 'de', 'Jörg Pfeiffer', 'joerg.pfeiffer@example.org'),
  ('sabine', 'de', 'Sabine Lindner', 'sabine.lindner@example.com'),
  ('matthias', 'de', 'Matthias Egger', 'm.egger@example.net'),
  ('lucia', 'es', 'Lucía Ferrer', 'lucia.ferrer@example.com'),
  ('javier', 'es', 'Javier Montoya', 'javier.montoya@example.com'),
  ('carmen', 'es', 'Carmen Ibáñez', 'carmen.ibanez@example.org'),
  ('diego', 'es', 'Diego Salinas', 'diego.salinas@example.net'),
  ('valeria', 'es', 'Valeria Quiroga', 'valeria.quiroga@example.com'),
  ('camille', 'fr', 'Camille Rousseau', 'camille.rousseau@example.org'),
  ('julien', 'fr', 'Julien Marchand', 'julien.marchand@example.com'),
  ('amelie', 'fr', 'Amélie Gauthier', 'amelie.gauthier@example.net'),
  ('benoit', 'fr', 'Benoît Lacroix', 'benoit.lacroix@example.com'),
  ('nadia', 'fr', 'Nadia Benali', 'nadia.benali@example.org'),
  ('rafael', 'pt', 'Rafael Nogueira', 'rafael.nogueira@example.com'),
  ('juliana', 'pt', 'Juliana Prado', 'juliana.prado@example.net'),
  ('thiago', 'pt', 'Thiago Barros', 'thiago.barros@example.org'),
  ('camila', 'pt', 'Camila Teixeira', 'camila.teixeira@example.com'),
  ('eduardo', 'pt', 'Eduardo Matos', 'eduardo.matos@example.net'),
  ('takumi', 'ja', '佐藤 拓海', 'takumi.sato@example.com'),
  ('yuka', 'ja', '中村 由佳', 'yuka.nakamura@example.org'),
  ('kenji', 'ja', '渡辺 健二', 'kenji.watanabe@example.com'),
  ('haruka', 'ja', '小林 遥', 'haruka.kobayashi@example.net'),
  ('daisuke', 'ja', '松本 大輔', 'daisuke.matsumoto@example.org'),
  ('giulia', 'it', 'Giulia Moretti', 'giulia.moretti@example.com'),
  ('marco', 'it', 'Marco Bellini', 'marco.bellini@example.com'),
  ('chiara', 'it', 'Chiara Fontana', 'chiara.fontana@example.net'),
  ('lorenzo', 'it', 'Lorenzo Ricci', 'lorenzo.ricci@example.org'),
  ('olga', 'ru', 'Ольга Синицына', 'olga.sinitsyna@example.com'),
  ('dmitry', 'ru', 'Дмитрий Ковалёв', 'dmitry.kovalev@example.net'),
  ('anna', 'ru', 'Анна Лебедева', 'anna.lebedeva@example.org'),
  ('sergey', 'ru', 'Сергей Морозов', 'sergey.morozov@example.com');

create temporary table seed_categories (position int generated always as identity, slug text, color text, name text, es text, fr text, de text, ru text, pt_br text, ja text, it text);
insert into seed_categories (slug, color, name, es, fr, de, ru, pt_br, ja, it) values
  ('scheduling', '#2563eb', 'Scheduling & dispatch', 'Planificación y asignación', 'Planification et affectation', 'Planung & Disposition', 'Планирование и диспетчеризация', 'Agendamento e despacho', 'スケジュールと配車', 'Pianificazione e assegnazione'),
  ('mobile-app', '#7c3aed', 'Mobile app', 'Aplicación móvil', 'Application mobile', 'Mobile App', 'Мобильное приложение', 'Aplicativo móvel', 'モバイルアプリ', 'App mobile'),
  ('job-sheets', '#0d9488', 'Job sheets & forms', 'Partes de trabajo y formularios', 'Fiches d''intervention et formulaires', 'Arbeitsberichte & Formulare', 'Наряды и формы', 'Ordens de serviço e formulários', '作業報告書とフォーム', 'Rapportini e moduli'),
  ('invoicing', '#16a34a', 'Invoicing & payments', 'Facturación y pagos', 'Facturation et paiements', 'Rechnungen & Zahlungen', 'Счета и оплата', 'Faturamento e pagamentos', '請求と支払い', 'Fatturazione e pagamenti'),
  ('customers', '#d97706', 'Customers & sites', 'Clientes e instalaciones', 'Clients et sites', 'Kunden & Standorte', 'Клиенты и объекты', 'Clientes e locais', '顧客と現場', 'Clienti e sedi'),
  ('reports', '#db2777', 'Reports', 'Informes', 'Rapports', 'Auswertungen', 'Отчёты', 'Relatórios', 'レポート', 'Report'),
  ('integrations', '#475569', 'Integrations & API', 'Integraciones y API', 'Intégrations et API', 'Integrationen & API', 'Интеграции и API', 'Integrações e API', '連携と API', 'Integrazioni e API'),
  ('account', '#dc2626', 'Account & permissions', 'Cuenta y permisos', 'Compte et autorisations', 'Konto & Berechtigungen', 'Аккаунт и права доступа', 'Conta e permissões', 'アカウントと権限', 'Account e autorizzazioni');

create temporary table seed_tags (slug text, color text, name text, es text, fr text, de text, ru text, pt_br text, ja text, it text);
insert into seed_tags values
  ('offline', '#64748b', 'Offline', 'Sin conexión', 'Hors ligne', 'Offline', 'Без сети', 'Sem conexão', 'オフライン', 'Senza connessione'),
  ('performance', '#ea580c', 'Performance', 'Rendimiento', 'Performances', 'Leistung', 'Производительность', 'Desempenho', 'パフォーマンス', 'Prestazioni'),
  ('calendar', '#2563eb', 'Calendar', 'Calendario', 'Calendrier', 'Kalender', 'Календарь', 'Calendário', 'カレンダー', 'Calendario'),
  ('notifications', '#ca8a04', 'Notifications', 'Notificaciones', 'Notifications', 'Benachrichtigungen', 'Уведомления', 'Notificações', '通知', 'Notifiche'),
  ('accessibility', '#7c3aed', 'Accessibility', 'Accesibilidad', 'Accessibilité', 'Barrierefreiheit', 'Доступность', 'Acessibilidade', 'アクセシビリティ', 'Accessibilità'),
  ('import-export', '#0891b2', 'Import & export', 'Importación y exportación', 'Import et export', 'Import & Export', 'Импорт и экспорт', 'Importação e exportação', 'インポートとエクスポート', 'Importazione ed esportazione'),
  ('photos', '#db2777', 'Photos', 'Fotos', 'Photos', 'Fotos', 'Фотографии', 'Fotos', '写真', 'Foto'),
  ('maps', '#16a34a', 'Maps & routes', 'Mapas y rutas', 'Cartes et itinéraires', 'Karten & Routen', 'Карты и маршруты', 'Mapas e rotas', '地図とルート', 'Mappe e percorsi'),
  ('pdf', '#b91c1c', 'PDF documents', 'Documentos PDF', 'Documents PDF', 'PDF-Dokumente', 'Документы PDF', 'Documentos PDF', 'PDF文書', 'Documenti PDF'),
  ('security', '#1e293b', 'Security', 'Seguridad', 'Sécurité', 'Sicherheit', 'Безопасность', 'Segurança', 'セキュリティ', 'Sicurezza'),
  ('parts', '#92400e', 'Parts & stock', 'Repuestos y existencias', 'Pièces et stock', 'Ersatzteile & Lager', 'Запчасти и склад', 'Peças e estoque', '部品と在庫', 'Ricambi e magazzino'),
  ('localization', '#0d9488', 'Languages & regions', 'Idiomas y regiones', 'Langues et régions', 'Sprachen & Regionen', 'Языки и регионы', 'Idiomas e regiões', '言語と地域', 'Lingue e regioni');

-- days: age in days; votes: in the end, the author's own included; tags: by comma
create temporary table seed_submissions (key text primary key, days numeric, author text, type text, category text, tags text, votes int, title text, description text);
insert into seed_submissions values
('offline-sheets', 264.37, 'grace', 'idea', 'mobile-app', 'offline,photos', 56, 'Job sheets that work fully offline',
 'Half of our visits are in plant rooms and basements with no signal. The app opens the job, but the checklist and the signature only save once the phone is online again, so my engineers write on paper and type everything in later in the van.

I''d like the whole job sheet (photos, parts, signature) to work offline and sync by itself. If two people edited the same job, show me both versions instead of quietly picking one.'),
('drag-dispatch', 261.12, 'tom', 'idea', 'scheduling', 'calendar', 42, 'Drag a job from one technician to another on the dispatch board',
 'Moving a job means opening it, changing the technician, checking the time and saving: five clicks, about thirty times each morning. I want to drag the card to another row and be done.'),
('van-stock', 258.61, 'declan', 'idea', 'job-sheets', 'parts', 46, 'Track stock per van, not only per warehouse',
 'We have 14 vans and each carries about 200 lines. Routewell only knows the central warehouse, so every fitting that leaves it looks "used" even when it''s sitting on a shelf in van 9. Please let a van be a stock location: transfers to it in the morning, parts used on a job are booked from it, and a weekly list of what to refill.'),
('dark-mode', 255.84, 'ben', 'idea', 'mobile-app', 'accessibility', 34, 'Dark theme for night shifts',
 'Our on-call people open the app at 3 in the morning in dark stairwells. The white screen is blinding. A dark theme that follows the phone''s setting would be enough.'),
('site-floors', 251.45, 'luke', 'idea', 'customers', '', 24, 'Buildings, floors and rooms below a customer site',
 'One of our customers is a hospital: one site, 11 buildings, more than 900 rooms. Today the room is written in the address line, differently by everyone. We need levels under a site, a picker on the job, and the equipment list filtered by room.'),
('slow-board', 247.29, 'priya', 'problem', 'scheduling', 'performance', 38, 'Dispatch board takes 12 seconds to load with 40 technicians',
 'Since we crossed 40 technicians the week view needs 10 to 12 seconds, and every filter change loads it all again. Day view takes around 3. Chrome on a normal office PC, 100 Mbit line. Other pages are fast.'),
('datev-export', 243.58, 'stefan', 'idea', 'integrations', 'import-export', 22, 'DATEV-Export für Ausgangsrechnungen',
 'Unsere Steuerberaterin arbeitet mit DATEV. Im Moment exportieren wir die Rechnungen als CSV und sie ordnet jede Zeile von Hand den Konten zu. Ein Export im DATEV-Format (Buchungsstapel) mit hinterlegten Erlöskonten je Leistungsart würde uns jeden Monat einen halben Tag sparen.'),
('bank-holidays', 240.03, 'heather', 'idea', 'scheduling', 'calendar', 28, 'Skip bank holidays when planning recurring visits',
 'Maintenance plans put visits on Christmas Day and on local holidays, and we move them by hand. Let me choose a holiday calendar per region and what happens to a visit that falls on one: the day before, the day after, or ask me.'),
('rotated-photos', 236.7, 'dan', 'problem', 'mobile-app', 'photos,pdf', 19, 'Landscape photos are rotated in the PDF report',
 'Photos taken with the phone held sideways look right in the app but are turned by 90 degrees in the PDF the customer gets. It happens on Pixel 7 and Samsung A54; Apple phones are fine.'),
('xero-tracking', 231.22, 'rachel', 'idea', 'integrations', 'import-export', 23, 'Send tracking categories to Xero with each invoice',
 'We use tracking categories in Xero for region and for service line. Invoices from Routewell arrive without them, so our bookkeeper edits every one. A mapping from job type to tracking category in the Xero settings would do.'),
('gps-battery', 226.94, 'marcus', 'problem', 'mobile-app', 'performance,maps', 22, 'Location tracking drains the battery by lunchtime',
 'With live location switched on, a two-year-old iPhone is at 20% by noon. Battery settings show Routewell at 61%. Other fleet apps manage with far less, so I guess it asks for the position too often while the van is parked.'),
('remote-signature', 223.5, 'lucia', 'idea', 'job-sheets', '', 17, 'Firma del cliente por enlace cuando no está en la obra',
 'Muchas veces el cliente no está presente cuando terminamos. Me gustaría enviarle un enlace por correo o SMS para que lea el parte y lo firme desde su teléfono, y que la firma quede en el mismo documento con fecha y hora.'),
('saml', 219.18, 'arjun', 'idea', 'account', 'security', 31, 'SAML single sign-on for larger teams',
 'We are 160 people with Entra ID. Each leaver has to be removed from Routewell by hand, and last quarter our auditors found two accounts that were still active weeks after the person had gone. Please support SAML (OIDC would be fine too) and let us enforce it for everyone except one emergency admin.'),
('part-payments', 215.6, 'amara', 'idea', 'invoicing', '', 27, 'Deposits and partial payments on one invoice',
 'For installations we take 40% up front, 40% when the material arrives and the rest at handover. At the moment these are three invoices which nobody can connect to each other. I''d like one invoice with a payment plan that shows what is paid and what is still due.'),
('pix', 213.31, 'rafael', 'idea', 'invoicing', '', 18, 'Receber por Pix direto na ordem de serviço',
 'Quase todos os nossos clientes residenciais pagam por Pix na hora. Hoje o técnico mostra um QR Code impresso e depois alguém no escritório confere o extrato para dar baixa. O ideal seria gerar o QR Code com o valor da OS no aplicativo e marcar a fatura como paga automaticamente.'),
('timesheet-rounding', 210.77, 'kirsty', 'idea', 'reports', '', 11, 'Round timesheets to the quarter hour, by contract',
 'Two of our contracts pay in 15-minute steps, the others by the minute. I correct around 120 lines every month. A rounding rule on the contract (up, down or nearest) would remove the whole job.'),
('lost-signature', 204.42, 'nina', 'problem', 'job-sheets', 'offline', 29, 'Customer signature disappears when a call comes in',
 'If the phone rings while the customer is signing, the app goes to the background, and when we return the signature is gone although it shows "signed" for a second. We now ask people to switch to flight mode before signing, which is embarrassing in front of a customer.'),
('on-call-rota', 202.15, 'camille', 'idea', 'scheduling', 'calendar', 17, 'Gérer les astreintes du week-end dans le planning',
 'Nos techniciens assurent une astreinte à tour de rôle, du vendredi soir au lundi matin. Aujourd''hui nous la suivons dans un tableur à part. Il faudrait pouvoir définir une rotation, voir qui est d''astreinte sur le tableau et lui affecter automatiquement les appels urgents.'),
('webhooks', 198.86, 'wei', 'idea', 'integrations', '', 25, 'Webhooks for job status changes',
 'We poll the API every minute to learn when a job is finished. That is 1,440 calls a day to find maybe 60 changes. A webhook on created, assigned, started and completed, signed and with retries, would let us drop all of that.'),
('furigana', 196.54, 'takumi', 'idea', 'customers', 'localization', 11, '顧客名にふりがな欄を追加してほしい',
 '顧客名が漢字だけだと読み方が分からず、電話口で困ることがよくあります。顧客登録画面にふりがなの欄を追加し、五十音順の並べ替えと、ひらがなでの検索ができるようにしてください。'),
('multi-day', 193.9, 'joanna', 'idea', 'scheduling', 'calendar', 20, 'Jobs that span several days with the same crew',
 'A boiler replacement takes three days and two people. I create six jobs for it, and the customer gets six confirmations. One job with several days and several people, and one confirmation, please.'),
('one-c', 189.27, 'olga', 'idea', 'integrations', 'import-export', 13, 'Обмен заявками с 1С',
 'Бухгалтерия ведёт контрагентов и номенклатуру в 1С, а заявки живут в Routewell. Каждый вечер диспетчер переносит закрытые заявки вручную, на это уходит около часа. Нужна выгрузка закрытых заявок с материалами в 1С:Предприятие и загрузка справочников в обратную сторону.'),
('sms-eta', 187.63, 'sipho', 'idea', 'customers', 'notifications', 40, 'Text the customer when the technician is 30 minutes away',
 'A third of our calls are "where is your guy?". If the app sent a text when the technician leaves for the job, with a rough arrival time, most of those calls would stop. It needs to be our own sender name, and customers must be able to opt out.'),
('sdi', 184.48, 'giulia', 'idea', 'invoicing', '', 15, 'Invio diretto delle fatture elettroniche allo SdI',
 'Oggi scarichiamo il file XML e lo carichiamo nel portale del commercialista, una fattura alla volta. Vorrei inviare le fatture allo SdI direttamente da Routewell e vedere l''esito (consegnata, scartata, mancata consegna) accanto a ogni fattura.'),
('csv-accents', 181.09, 'noah', 'problem', 'reports', 'import-export,localization', 8, 'CSV export breaks accented characters in Excel',
 'Names like Sørensen or Müller turn into "SÃ¸rensen" when the exported file is opened by double click in Excel 2021 on Windows. In LibreOffice it is fine if I pick UTF-8.'),
('break-times', 179.33, 'katrin', 'idea', 'reports', '', 14, 'Pausen und Rüstzeiten getrennt erfassen',
 'In der Zeiterfassung gibt es nur „Arbeit“ und „Fahrt“. Für die Lohnabrechnung brauchen wir zusätzlich Pause und Rüstzeit, und im Bericht für den Kunden soll die Rüstzeit nicht erscheinen.'),
('custom-roles', 176.82, 'ruth', 'idea', 'account', 'security', 27, 'Custom roles, so that foremen can approve timesheets only',
 'Right now somebody is either a technician or an office user, and office users see prices and margins. Our foremen should approve timesheets and move jobs inside their own crew, nothing else. A role editor with a dozen switches would cover it.'),
('map-groups', 170.51, 'alice', 'idea', 'scheduling', 'maps', 15, 'Group nearby unassigned jobs on the map',
 'When I plan the next day I look for jobs close to each other. On the map they are single pins, often on top of one another. Clusters with a count, and a lasso to select several and give them to one person, would make planning a lot quicker.'),
('branching', 164.26, 'fatima', 'idea', 'job-sheets', '', 25, 'Checklist questions that depend on earlier answers',
 'Our gas safety form has 70 questions, but most visits need only 20 of them. If "Is there a flue?" is answered with no, the nine flue questions should not appear. Technicians tick through them blindly now, which makes the form worthless as evidence.'),
('facturae', 161.4, 'javier', 'idea', 'invoicing', 'import-export', 12, 'Factura electrónica para administraciones públicas (Facturae)',
 'Trabajamos para tres ayuntamientos y exigen Facturae 3.2.2 por FACe. Ahora volvemos a teclear cada factura en la aplicación del ministerio. Bastaría con poder descargar el XML firmado; el envío automático sería lo ideal.'),
('font-size', 158.04, 'bob', 'problem', 'mobile-app', 'accessibility', 11, 'Text in checklists ignores the system font size',
 'I use the largest text size on my phone. The job list follows it, but checklist questions stay tiny, and the long ones are cut off after two lines with no way to read the rest.'),
('nfse', 157.22, 'juliana', 'idea', 'integrations', '', 14, 'Emissão de NFS-e integrada',
 'Depois de concluir a OS precisamos entrar no site da prefeitura e digitar tudo de novo para emitir a nota de serviço. Uma integração com o padrão nacional da NFS-e, com o número da nota voltando para a OS, economizaria umas duas horas por dia aqui.'),
('double-send', 152.68, 'omar', 'problem', 'invoicing', '', 14, 'Tapping Send twice creates two invoices',
 'On a slow connection the Send button stays active. Two of our people tapped it again, and the customer received invoices 2231 and 2232 for the same job. We had to write a credit note.'),
('reduced-vat', 149.95, 'julien', 'problem', 'invoicing', 'pdf', 11, 'Le taux de TVA réduit n''apparaît pas sur la facture PDF',
 'Pour les travaux de rénovation nous appliquons 10 % ou 5,5 %. Le total est juste, mais sur le PDF toutes les lignes affichent 20 %. Nos clients nous rappellent pour demander une facture corrigée.'),
('asset-qr', 146.17, 'carl', 'idea', 'customers', 'photos', 22, 'QR labels for equipment that open its service history',
 'We would like to print a sticker for each unit. The technician scans it and sees the last visits, the manual and the open defects. If the customer scans the same sticker, they should only get a form to report a fault.'),
('hanko', 141.73, 'yuka', 'idea', 'job-sheets', 'pdf', 10, '作業報告書に印影を入れたい',
 '取引先の多くは、いまでも作業報告書に担当者と責任者の印影を求めます。署名欄に加えて、登録しておいた印影の画像をPDFに自動で配置できると助かります。押印欄は最大三つ、位置はテンプレートごとに決めたいです。'),
('travel-time', 139.36, 'pieter', 'idea', 'scheduling', 'maps', 18, 'Include travel time when checking for overlaps',
 'The board warns me when two jobs overlap, but a job ending at 10:00 in Utrecht and one starting at 10:00 in Zwolle is "fine". Please count the drive between them and show it as a grey block.'),
('phone-format', 136.58, 'dmitry', 'problem', 'customers', 'localization', 8, 'Номера телефонов с +7 и с 8 считаются разными',
 'Если клиент записан как 8 912 …, а звонит с +7 912 …, карточка при входящем звонке не находится, и оператор заводит второго клиента. За полгода накопилось больше сотни дублей.'),
('gcal-lag', 133.91, 'siobhan', 'problem', 'integrations', 'calendar', 15, 'Google Calendar shows moved jobs hours later',
 'When dispatch moves a job, the technician''s Google Calendar still shows the old slot, sometimes for three or four hours. New jobs appear within a minute. Two missed appointments this month because of it.'),
('umlaut-search', 129.49, 'joerg', 'problem', 'customers', 'localization', 9, 'Kundensuche findet Namen mit Umlauten nicht',
 'Suche ich nach „Mueller“, wird „Müller“ nicht gefunden, umgekehrt auch nicht. Am Telefon weiß man nie, wie der Kollege den Namen angelegt hat. Das Gleiche gilt für „Strasse“ und „Straße“ in Adressen.'),
('quote-approval', 126.13, 'mei', 'idea', 'invoicing', 'pdf', 20, 'Let customers approve quotes online',
 'We mail the quote as a PDF, the customer prints it, signs it, scans it and mails it back. Half give up. A page with the quote, a box for questions and an Approve button would bring the answers in days instead of weeks.'),
('two-signatures', 122.88, 'marco', 'idea', 'job-sheets', 'pdf', 9, 'Più firme sullo stesso rapportino',
 'Nei condomini devono firmare l''amministratore e il residente, a volte anche il direttore lavori. Adesso c''è un solo riquadro. Vorrei aggiungere firme con nome e ruolo, e poterle rendere obbligatorie per tipo di intervento.'),
('api-limit', 120.54, 'wei', 'idea', 'integrations', 'performance', 6, 'Raise the API limit for nightly imports',
 'Our ERP pushes about 8,000 price changes each night, one call per item. At the current limit this takes over an hour and a half. Could the limit be higher between midnight and five?'),
('barcode-crash', 117.42, 'carmen', 'problem', 'mobile-app', 'parts', 9, 'La aplicación se cierra al escanear códigos de barras',
 'Desde la última actualización, al escanear el código de una pieza la aplicación se cierra sin mensaje. Pasa con Android 13 en un Xiaomi Redmi Note 12 y en dos tabletas Lenovo. Si escribo el código a mano, funciona.'),
('whatsapp', 114.67, 'kwame', 'idea', 'customers', 'notifications', 18, 'Appointment reminders by WhatsApp',
 'In Ghana nobody reads SMS any more, and e-mail even less. WhatsApp reminders with a button to confirm or move the appointment would cut our no-shows by half.'),
('maintenance-contracts', 110.31, 'amelie', 'idea', 'customers', '', 13, 'Rattacher un contrat d''entretien à chaque équipement',
 'Un même client peut avoir une chaudière sous contrat complet, une climatisation avec une simple visite annuelle et une VMC sans contrat. Le contrat est aujourd''hui lié au client, ce qui oblige le technicien à appeler le bureau pour savoir si la pièce est couverte.'),
('windows-app', 107.8, 'sofie', 'idea', 'scheduling', '', 7, 'A native Windows app for dispatchers',
 'We keep the board open all day next to thirty browser tabs and it gets lost. A proper program with its own window and taskbar icon would help.'),
('route-restrictions', 104.44, 'thiago', 'problem', 'scheduling', 'maps', 7, 'O trajeto sugerido ignora o rodízio de veículos',
 'Em São Paulo cada placa não pode circular no centro expandido em um dia da semana. A sugestão de rota manda a van para lá do mesmo jeito, e já levamos três multas este ano. Deveria ser possível cadastrar o final da placa e os horários.'),
('bulk-reassign', 101.16, 'lena', 'idea', 'scheduling', '', 17, 'Reassign all jobs of a sick technician at once',
 'Someone calls in sick at 6:30 and I have to move nine jobs one at a time while the phone rings. Select the day, choose "distribute", and let me confirm the suggestion.'),
('wide-logos', 95.52, 'rachel', 'problem', 'job-sheets', 'pdf', 5, 'Wide logos are squashed on the job report',
 'Our logo is 5:1. On the job report it is pressed into a square; on invoices it looks right.'),
('inspection-template', 92.07, 'matthias', 'idea', 'job-sheets', 'pdf', 11, 'Prüfprotokolle nach DGUV V3 als Vorlage',
 'Für die Prüfung ortsveränderlicher Geräte brauchen wir ein Protokoll mit Messwerten, Grenzwerten und der Bewertung je Gerät. Mit den jetzigen Formularen muss ich für jedes Gerät einen eigenen Auftrag anlegen. Eine wiederholbare Tabelle im Formular würde reichen, eine fertige Vorlage wäre noch besser.'),
('require-2fa', 88.79, 'arjun', 'idea', 'account', 'security', 19, 'Require two-factor sign-in for the whole company',
 'Two-factor is optional per person, so about half of us use it. I want to require it for everyone with a grace period of some days, and see who has not set it up yet.'),
('qualified-invoice', 86.38, 'kenji', 'idea', 'invoicing', 'localization', 12, '適格請求書(インボイス制度)に対応してほしい',
 '請求書に登録番号と税率ごとの消費税額を記載する必要がありますが、現在のテンプレートには欄がありません。備考に手入力していますが、端数処理が行ごとになっており、税率ごとに一回という要件を満たせません。'),
('margin-report', 82.95, 'amara', 'idea', 'reports', 'parts', 13, 'Margin per job, including parts and labour',
 'I can see what we charged for a job, but not what it cost us. Purchase prices are in the parts list and hourly cost could be set per technician, so the numbers are nearly all there. Even a CSV once a month would be a start.'),
('yandex-maps', 80.62, 'anna', 'idea', 'scheduling', 'maps', 8, 'Яндекс Карты на доске диспетчера',
 'В небольших городах Урала на текущей карте нет половины домов, а пробки не показываются вовсе. Просим добавить выбор поставщика карт, в первую очередь Яндекс.'),
('delay-messages', 78.2, 'diego', 'idea', 'customers', 'notifications', 8, 'Plantillas de mensajes para avisar de retrasos',
 'Cuando un técnico se retrasa, la oficina escribe el mismo mensaje una y otra vez. Quisiera plantillas con el nombre del cliente, la hora nueva y el motivo, que el propio técnico pueda enviar con dos toques.'),
('subcontractors', 75.73, 'tom', 'idea', 'account', 'security', 23, 'Limited logins for subcontractors',
 'In winter we hand about a fifth of the jobs to two partner firms. They must see only the jobs we give them, without prices or other customers, and fill in our job sheet. Sharing one of our logins, as we do now, is asking for trouble.'),
('street-numbers', 71.41, 'chiara', 'problem', 'scheduling', 'maps', 5, 'Gli indirizzi con «bis» o con la barra finiscono nel posto sbagliato',
 'Via Roma 12/B viene messo all''inizio della via, e 14 bis addirittura in un altro comune. Il tecnico arriva a due chilometri dal cliente. Se correggo il segnaposto a mano, alla modifica successiva torna dov''era.'),
('double-push', 69.58, 'elif', 'problem', 'mobile-app', 'notifications', 9, 'Two push notifications for every new job on Android',
 'Since version 4.14 each new job rings twice, a second apart. Signing out and in again helps for a day. Android 14, app installed through our company''s device management.'),
('french-gaps', 66.86, 'benoit', 'problem', 'mobile-app', 'localization', 5, 'Plusieurs écrans restent en anglais',
 'L''application est en français, mais l''écran des pièces, les motifs d''annulation et les messages d''erreur sont en anglais. Deux de nos techniciens ne le lisent pas et choisissent un motif au hasard.'),
('after-hours', 63.24, 'dan', 'idea', 'account', 'maps', 1, 'Track vehicles outside working hours',
 'Live location stops when the technician ends the day. We own the vans and would like to see where they are at night and at weekends as well.'),
('e-invoice', 60.92, 'katrin', 'idea', 'invoicing', 'pdf,import-export', 21, 'E-Rechnung im Format ZUGFeRD und XRechnung',
 'Immer mehr Geschäftskunden nehmen nur noch E-Rechnungen an, Behörden ohnehin. Wir brauchen ZUGFeRD für die normalen Kunden und XRechnung mit Leitweg-ID für die Stadt. Das Format sollte beim Kunden hinterlegt sein, damit im Büro niemand daran denken muss.'),
('commission', 58.35, 'camila', 'idea', 'reports', '', 7, 'Relatório de comissão por técnico',
 'Pagamos comissão sobre peças vendidas e sobre contratos novos. Preciso de um relatório mensal por técnico, com percentuais diferentes por tipo de serviço, que eu possa mandar direto para a folha de pagamento.'),
('dst-shift', 56.11, 'heather', 'problem', 'scheduling', 'calendar', 12, 'Recurring jobs moved by an hour after the clocks changed',
 'All visits of our weekly plans now start at 8:00 instead of 9:00. One-off jobs are right. We have 62 plans, and customers are already calling about technicians at the door too early.'),
('photo-crash', 53.69, 'haruka', 'problem', 'mobile-app', 'photos,performance', 6, '写真を20枚以上添付するとアプリが落ちる',
 '定期点検では一件につき30枚ほど写真を撮ります。20枚を超えたあたりで動作が重くなり、保存を押すとアプリが終了します。撮った写真は残っていません。iPhone SE(第2世代)、iOS 17です。'),
('dictation', 49.17, 'alice', 'idea', 'job-sheets', 'accessibility', 8, 'Dictate job notes instead of typing them',
 'Typing with gloves on a ladder is no fun, so notes end up as "done". A microphone button next to the notes field, with the text shown before saving, would give us much better reports.'),
('fixed-tours', 45.88, 'sabine', 'idea', 'scheduling', 'maps', 10, 'Feste Touren je Wochentag',
 'Montags fahren wir immer Nord, dienstags Ost und so weiter. Wenn ein Kunde anruft, möchte ich nur die Tage sehen, an denen wir ohnehin in seiner Gegend sind. Ein Postleitzahlenbereich je Wochentag würde schon genügen.'),
('quickbooks-tax', 42.3, 'marcus', 'problem', 'integrations', '', 7, 'QuickBooks sync drops the tax code on discounted lines',
 'A line with a discount arrives in QuickBooks as two lines, and the negative one has no tax code. The totals differ by the tax on the discount, so the sync marks the invoice as failed. Without discount it works.'),
('two-currencies', 38.75, 'valeria', 'idea', 'invoicing', 'localization', 5, 'Precios en dos monedas en el mismo presupuesto',
 'En Argentina los equipos se cotizan en dólares y la mano de obra en pesos. Necesitamos poder mezclar ambas monedas en un presupuesto, con el tipo de cambio del día en que el cliente lo acepta.'),
('photo-markup', 35.06, 'nina', 'idea', 'job-sheets', 'photos', 14, 'Draw arrows on photos before attaching them',
 'A photo of a switch cabinet with forty breakers says little without an arrow. Please let us mark a spot with an arrow, a circle and a short text, and keep the original too.'),
('own-act', 31.64, 'sergey', 'idea', 'job-sheets', 'pdf', 5, 'Свой шаблон акта выполненных работ',
 'Крупные заказчики принимают акт только по своей форме. Хотелось бы загрузить шаблон в DOCX с метками полей, чтобы по завершении заявки получался готовый файл, а не только стандартный PDF.'),
('serial-search', 28.43, 'luke', 'idea', 'customers', '', 8, 'Find equipment by serial number',
 'A manufacturer recalls units by serial number and I have no way to find which of our customers has them. Search covers names and addresses only.'),
('leave-board', 24.29, 'lorenzo', 'idea', 'scheduling', 'calendar', 7, 'Vedere ferie e permessi sul tabellone',
 'Le ferie sono in un altro programma, e ogni settimana capita di assegnare un lavoro a chi non c''è. Basterebbe importare un calendario iCal per ogni tecnico e mostrare quei giorni in grigio.'),
('code-email', 19.72, 'eduardo', 'problem', 'account', 'security', 5, 'Código de verificação não chega por e-mail',
 'Desde segunda-feira, três dos nossos usuários não recebem o código para entrar. Não está no lixo eletrônico, e o administrador do domínio não vê nenhuma tentativa de entrega. Todos usam o mesmo provedor, a Locaweb.'),
('split-view', 18.34, 'siobhan', 'problem', 'mobile-app', '', 4, 'Job details are cut off in iPad split view',
 'With Maps on the left half, the right edge of the job sheet is missing and I can''t reach the Save button. Full screen is fine. iPad 10th generation.'),
('report-photos', 15.97, 'nadia', 'idea', 'job-sheets', 'photos,pdf', 5, 'Choisir les photos qui figurent dans le compte rendu',
 'Le technicien prend des photos pour le client et d''autres pour nous seulement (accès, codes, défauts à chiffrer). Tout se retrouve dans le compte rendu. Une simple case « interne » sur chaque photo suffirait.'),
('month-rota', 13.55, 'daisuke', 'idea', 'scheduling', 'calendar', 3, 'シフト表を月単位で印刷したい',
 '現場の事務所に一か月分のシフト表を貼り出しています。今は週表示の画面を四回印刷して切り貼りしています。A3横一枚に収まる月間表をPDFで出力できるようにしてください。'),
('weekly-digest', 11.08, 'bob', 'idea', 'reports', 'notifications', 5, 'Weekly summary by e-mail for managers',
 'I don''t log in every day. On Monday morning I''d like one e-mail: jobs done, jobs overdue, invoices unpaid for more than 30 days, and anything that was reopened.'),
('low-stock', 9.41, 'javier', 'idea', 'job-sheets', 'parts,notifications', 4, 'Avisar cuando una pieza baja del stock mínimo',
 'Nos enteramos de que no quedan filtros cuando el técnico ya está en casa del cliente. Un mínimo por pieza y un aviso diario al responsable de compras evitarían la segunda visita.'),
('ten-photos', 4.62, 'kirsty', 'problem', 'mobile-app', 'performance,photos', 3, 'Uploading ten photos blocks the app for a minute',
 'After saving a job with ten pictures the app shows a spinner, and I can''t open the next job until it is finished. On 4G in the valleys that is easily a minute each time.'),
('quote-expiry', 1.83, 'mei', 'idea', 'invoicing', 'pdf', 2, 'Expiry date on quotes',
 'Material prices change monthly, but our quotes are open for ever. A "valid until" date on the PDF, and a status of expired afterwards, please.'),
('board-keyboard', 0.46, 'rachel', 'problem', 'scheduling', 'accessibility', 1, 'The dispatch board cannot be used with a keyboard or a screen reader',
 'A new colleague in our office works with NVDA. Cards on the board have no names for the screen reader, and moving one needs a mouse. The job list is fine, so she plans from there, but she can''t see who is free.');

-- step: the nth change of that submission; after: days after the submission
create temporary table seed_status_changes (key text, step int, after numeric, status text, changed_by text, note text);
insert into seed_status_changes values
('offline-sheets', 1, 6.2, 'under_review', 'member', null),
('offline-sheets', 2, 61.4, 'planned', 'owner', 'The largest piece of work this year. Checklists and signatures come first, then photos and parts.'),
('offline-sheets', 3, 196.1, 'in_progress', 'owner', 'Sync is running with twelve pilot companies. Write to support if you would like to join the pilot.'),
('drag-dispatch', 1, 4.3, 'under_review', 'member', null),
('drag-dispatch', 2, 20.1, 'planned', 'owner', null),
('drag-dispatch', 3, 48.5, 'in_progress', 'owner', 'We are building this on the new board, so it arrives once loading is fast again.'),
('drag-dispatch', 4, 97.1, 'completed', 'owner', 'Released in 4.10. Hold Shift while dropping to keep the original start time.'),
('van-stock', 1, 12.4, 'under_review', 'member', 'We are talking to eight companies about how they refill vans before we decide on the details.'),
('van-stock', 2, 150.2, 'planned', 'owner', 'Planned for next quarter: vans as stock locations, transfers, and a refill list.'),
('dark-mode', 1, 10.6, 'planned', 'owner', null),
('dark-mode', 2, 40.2, 'in_progress', 'member', null),
('dark-mode', 3, 68.9, 'completed', 'member', 'Part of 4.9. It follows the phone''s setting, or choose it under Settings, Appearance.'),
('site-floors', 1, 40.7, 'under_review', 'owner', 'We want this to work for lifts and schools as well. Tell us how many levels you need.'),
('slow-board', 1, 0.9, 'under_review', 'member', 'Reproduced with a copy of a large account.'),
('slow-board', 2, 3.1, 'in_progress', 'owner', null),
('slow-board', 3, 37.2, 'completed', 'owner', 'With 4.8 the week view of 60 technicians loads in about 1.4 seconds; filters no longer reload it.'),
('datev-export', 1, 20.5, 'under_review', 'owner', null),
('datev-export', 2, 130.3, 'planned', 'owner', 'Eingeplant: Buchungsstapel mit Erlöskonten je Leistungsart, danach die Übergabe der Belegbilder.'),
('bank-holidays', 1, 55.1, 'under_review', 'member', null),
('bank-holidays', 2, 140.6, 'planned', 'owner', 'We will start with public holidays by country and region, and the three options you describe.'),
('rotated-photos', 1, 1.2, 'under_review', 'member', null),
('rotated-photos', 2, 4.4, 'in_progress', 'member', null),
('rotated-photos', 3, 26.5, 'completed', 'member', 'Fixed in 4.8. Reports made earlier can be created again from the job''s menu.'),
('xero-tracking', 1, 33.8, 'under_review', 'member', 'Xero allows two tracking categories per line; we are checking whether one mapping per job type is enough.'),
('gps-battery', 1, 2.2, 'under_review', 'member', null),
('gps-battery', 2, 9.5, 'in_progress', 'owner', null),
('gps-battery', 3, 63.0, 'completed', 'owner', 'Since 4.10 the app stops asking for a position while the van stands still. In our tests a full day costs 6 to 9% of the battery.'),
('remote-signature', 1, 30.3, 'under_review', 'member', null),
('remote-signature', 2, 120.8, 'planned', 'owner', 'Lo haremos junto con la aprobación de presupuestos en línea, porque comparten el mismo enlace seguro.'),
('saml', 1, 15.1, 'under_review', 'owner', null),
('saml', 2, 70.4, 'planned', 'owner', 'SAML first, with enforcement and an emergency admin. Automatic removal of leavers (SCIM) comes after it.'),
('saml', 3, 160.9, 'in_progress', 'owner', null),
('part-payments', 1, 50.2, 'under_review', 'member', null),
('part-payments', 2, 135.7, 'planned', 'owner', null),
('pix', 1, 25.5, 'under_review', 'member', null),
('pix', 2, 128.4, 'planned', 'owner', 'Vamos começar com o QR Code dinâmico e a baixa automática pelo banco parceiro.'),
('lost-signature', 1, 0.3, 'under_review', 'member', null),
('lost-signature', 2, 1.1, 'in_progress', 'owner', 'Found: the drawing is thrown away when the system pauses the app. We now save every stroke.'),
('lost-signature', 3, 17.4, 'completed', 'owner', 'Fixed in 4.9 for iPhone and Android.'),
('on-call-rota', 1, 66.6, 'planned', 'owner', 'Prévu : rotations, affichage sur le tableau, puis affectation des appels urgents.'),
('webhooks', 1, 8.1, 'planned', 'owner', null),
('webhooks', 2, 40.6, 'in_progress', 'owner', null),
('webhooks', 3, 80.7, 'completed', 'owner', 'Available since 4.12 under Settings, Developers. Deliveries are signed and retried for 24 hours.'),
('furigana', 1, 30.9, 'planned', 'member', null),
('furigana', 2, 78.5, 'completed', 'member', 'バージョン4.12で対応しました。ふりがなは顧客一覧の並べ替えと検索の両方で使われます。'),
('multi-day', 1, 44.4, 'under_review', 'member', null),
('multi-day', 2, 100.2, 'planned', 'owner', null),
('one-c', 1, 29.6, 'under_review', 'member', 'Собираем требования: какие конфигурации 1С у вас используются?'),
('sms-eta', 1, 10.3, 'under_review', 'member', null),
('sms-eta', 2, 45.2, 'planned', 'owner', 'Planned with your own sender name where the country permits it, and an opt-out link in every text.'),
('sms-eta', 3, 130.5, 'in_progress', 'owner', null),
('sdi', 1, 35.4, 'under_review', 'member', null),
('sdi', 2, 110.1, 'planned', 'owner', 'Pianificato: invio tramite un intermediario accreditato, con gli esiti riportati sulla fattura.'),
('csv-accents', 1, 1.0, 'in_progress', 'member', null),
('csv-accents', 2, 17.1, 'completed', 'member', 'Since 4.10 exports begin with a byte order mark, so Excel recognises UTF-8.'),
('break-times', 1, 62.3, 'under_review', 'member', null),
('custom-roles', 1, 75.8, 'under_review', 'owner', 'We have read every comment here. The question is whether roles should also depend on the crew.'),
('branching', 1, 30.1, 'planned', 'owner', null),
('branching', 2, 115.5, 'in_progress', 'owner', 'Rules of the kind "show when the answer is …" are working in the editor; reports are next.'),
('facturae', 1, 41.9, 'under_review', 'member', null),
('font-size', 1, 20.2, 'planned', 'member', 'Planned together with a review of all screens at the largest text size.'),
('nfse', 1, 36.3, 'under_review', 'member', 'Estamos avaliando o padrão nacional e quais prefeituras já aderiram.'),
('double-send', 1, 0.2, 'in_progress', 'owner', null),
('double-send', 2, 11.6, 'completed', 'owner', 'Fixed in 4.11: the button locks, and the server refuses a second invoice for the same request.'),
('reduced-vat', 1, 1.1, 'in_progress', 'member', null),
('reduced-vat', 2, 8.9, 'completed', 'member', 'Corrigé dans la version 4.11. Les factures concernées peuvent être régénérées sans changer de numéro.'),
('asset-qr', 1, 60.5, 'planned', 'owner', null),
('hanko', 1, 50.4, 'under_review', 'member', null),
('travel-time', 1, 31.2, 'under_review', 'owner', null),
('phone-format', 1, 3.3, 'planned', 'member', null),
('phone-format', 2, 18.5, 'completed', 'member', 'Исправлено в 4.12: номера приводятся к международному виду, а дубли можно объединить в карточке клиента.'),
('gcal-lag', 1, 1.5, 'under_review', 'member', null),
('gcal-lag', 2, 100.3, 'in_progress', 'member', 'Google drops some of our change notices under load. We are moving to a queue that checks and repeats them.'),
('umlaut-search', 1, 5.2, 'planned', 'member', null),
('umlaut-search', 2, 34.5, 'completed', 'member', 'Seit 4.13 findet die Suche ä und ae, ö und oe, ü und ue sowie ß und ss gegenseitig.'),
('quote-approval', 1, 58.8, 'planned', 'owner', null),
('two-signatures', 1, 30.7, 'under_review', 'member', null),
('api-limit', 1, 2.2, 'declined', 'owner', 'We would rather not have limits that change with the time of day. The bulk endpoint takes 500 price changes in one call, so your 8,000 fit into sixteen.'),
('barcode-crash', 1, 0.2, 'in_progress', 'member', null),
('barcode-crash', 2, 1.5, 'completed', 'member', 'Corregido en la versión 4.12.1, ya disponible en Google Play.'),
('whatsapp', 1, 21.4, 'under_review', 'owner', null),
('maintenance-contracts', 1, 44.2, 'under_review', 'member', null),
('windows-app', 1, 9.1, 'declined', 'owner', 'A second app would slow everything else down. In Edge and Chrome, "Install this site as an app" gives the board its own window and taskbar icon; we have added a help page with pictures.'),
('bulk-reassign', 1, 3.4, 'planned', 'owner', null),
('bulk-reassign', 2, 30.6, 'in_progress', 'owner', null),
('bulk-reassign', 3, 51.2, 'completed', 'owner', 'In 4.15: right-click on a name, "Absent today". Suggestions look at skills, distance and free time, and nothing moves before you confirm.'),
('require-2fa', 1, 5.5, 'planned', 'owner', null),
('require-2fa', 2, 38.7, 'completed', 'owner', 'In 4.15 under Settings, Security, with a grace period of 0 to 30 days and a list of who is still missing.'),
('qualified-invoice', 1, 1.0, 'planned', 'member', null),
('qualified-invoice', 2, 10.8, 'in_progress', 'member', null),
('qualified-invoice', 3, 36.2, 'completed', 'member', 'バージョン4.15で適格請求書のテンプレートを追加しました。端数処理は税率ごとに一回です。'),
('margin-report', 1, 40.4, 'under_review', 'member', null),
('yandex-maps', 1, 31.3, 'declined', 'owner', 'Второго поставщика карт мы в ближайшее время поддержать не сможем. Адреса теперь можно уточнять меткой на карте, и метка сохраняется.'),
('subcontractors', 1, 18.6, 'under_review', 'owner', null),
('street-numbers', 1, 2.1, 'in_progress', 'member', null),
('street-numbers', 2, 21.2, 'completed', 'member', 'Risolto nella 4.15: i suffissi vengono riconosciuti e il segnaposto corretto a mano resta dov''è.'),
('double-push', 1, 1.0, 'under_review', 'member', null),
('double-push', 2, 19.3, 'completed', 'member', 'Fixed in 4.15: old device registrations are removed when a new one arrives.'),
('double-push', 3, 24.7, 'open', 'member', 'Reopened: it still happens on phones with a work profile.'),
('double-push', 4, 50.1, 'in_progress', 'owner', null),
('french-gaps', 1, 2.4, 'in_progress', 'member', null),
('french-gaps', 2, 39.6, 'completed', 'member', 'Les 214 textes manquants sont traduits dans la version 4.16.'),
('after-hours', 1, 4.1, 'declined', 'owner', 'In most countries where we sell, this would be unlawful, and the phone belongs to a person, not to the van. For vehicles, a tracker built into the van is the right tool.'),
('e-invoice', 1, 7.3, 'planned', 'owner', null),
('e-invoice', 2, 36.4, 'in_progress', 'owner', 'ZUGFeRD ist in der Testphase, XRechnung mit Leitweg-ID folgt danach.'),
('dst-shift', 1, 0.1, 'under_review', 'member', null),
('dst-shift', 2, 0.3, 'in_progress', 'owner', null),
('dst-shift', 3, 1.4, 'completed', 'owner', 'Corrected on the server for all plans; visits you had already moved by hand were left alone. Plans now keep local time.'),
('photo-crash', 1, 1.1, 'under_review', 'member', null),
('photo-crash', 2, 30.5, 'in_progress', 'member', null),
('quickbooks-tax', 1, 3.6, 'under_review', 'member', null),
('photo-markup', 1, 12.2, 'under_review', 'owner', null),
('serial-search', 1, 20.3, 'planned', 'member', null),
('code-email', 1, 0.2, 'under_review', 'member', null),
('code-email', 2, 2.1, 'completed', 'member', 'O provedor havia bloqueado um dos nossos servidores de envio. O bloqueio foi retirado, e os códigos voltaram a chegar.');

-- path: 1.2 is the second reply to the first comment; after: days after the submission
create temporary table seed_comments (id uuid default gen_random_uuid(), key text, path text, after numeric, author text, body text, primary key (key, path));
insert into seed_comments (key, path, after, author, body) values
('offline-sheets', '1', 0.8, 'declan', 'Same here. Lift shafts and cellars, every single day. We lose about an hour per engineer and week to retyping.'),
('offline-sheets', '1.1', 1.3, 'grace', 'An hour sounds right. And the retyped notes are shorter than what is on the paper.'),
('offline-sheets', '2', 6.3, 'member', 'Thanks, this is very clear. Which part hurts most: checklists, photos or the signature? We will probably not be able to bring all three at once.'),
('offline-sheets', '2.1', 6.9, 'grace', 'The signature, since the customer is gone by the time we have signal. Checklists second.'),
('offline-sheets', '2.2', 7.4, 'priya', 'Checklists for us. Signatures we can collect at the door on the way out.'),
('offline-sheets', '2.2.1', 8.1, 'sipho', 'Checklists too, especially with the readings. Photos can wait, the phone keeps those anyway.'),
('offline-sheets', '2.2.1.1', 9.2, 'member', 'That settles the order: checklists and signatures together, then photos, then parts.'),
('offline-sheets', '3', 118.2, 'marco', 'Is there a date? We have to decide on our tablets before the summer.'),
('offline-sheets', '3.1', 118.9, 'owner', 'No date I could promise yet. The pilot begins once two people can edit one job without losing anything, and that takes the time it takes.'),
('offline-sheets', '4', 205.5, 'grace', 'We are in the pilot since Monday. Three days in a hospital basement, nothing lost so far. The conflict screen could say who made which change.'),
('offline-sheets', '4.1', 206.2, 'owner', 'Good to hear. Names and times on the conflict screen are in the next pilot build.'),
('drag-dispatch', '1', 2.1, 'lena', 'Please with undo. Our touchpads are not the best.'),
('drag-dispatch', '1.1', 4.4, 'member', 'Undo is part of it: a message at the bottom, for ten seconds.'),
('drag-dispatch', '1.1.1', 5.0, 'lena', 'Perfect.'),
('drag-dispatch', '2', 15.7, 'carl', 'Will the technician get a notification for every move? When I try things out, they shouldn''t get five of them.'),
('drag-dispatch', '2.1', 20.2, 'owner', 'Good point. We will wait two minutes after the last move and send only the final state.'),
('drag-dispatch', '3', 97.9, 'tom', 'Used it this morning. Thirty jobs in about two minutes. Thank you!'),
('van-stock', '1', 1.6, 'dan', 'We keep this in a spreadsheet, and it is wrong by Wednesday.'),
('van-stock', '2', 12.5, 'member', 'How do parts get into your vans: one transfer each morning, or does everyone take what they need?'),
('van-stock', '2.1', 13.2, 'declan', 'Everyone takes what they need and scans it at the door, with a cheap scanner and a list. So something quick on the phone would be ideal.'),
('van-stock', '2.2', 13.8, 'marcus', 'For us one person packs boxes in the evening, one per van.'),
('van-stock', '2.2.1', 14.9, 'member', 'So we need both: a packed transfer that the technician confirms, and a quick scan. Noted.'),
('van-stock', '3', 167.4, 'omar', 'Please think of returns as well. Half of what goes out comes back on Friday.'),
('dark-mode', '1', 0.9, 'elif', 'Yes, also for migraine sufferers like me.'),
('dark-mode', '2', 11.1, 'sofie', 'Will the customer''s signature screen stay white? On dark, people find it hard to see where to sign.'),
('dark-mode', '2.1', 11.8, 'member', 'It will. The signature field stays white in both themes.'),
('dark-mode', '3', 70.3, 'ben', 'Looks great. The map is still bright though.'),
('dark-mode', '3.1', 71.2, 'member', 'Right, map tiles come from another source. A dark map is on our list for the next release.'),
('site-floors', '1', 5.4, 'rachel', 'For lifts we would need site, building, shaft. Three levels with names we can choose ourselves.'),
('site-floors', '2', 41.0, 'owner', 'Would three levels with free names cover a hospital, or do you need wings and wards too?'),
('site-floors', '2.1', 42.6, 'luke', 'Building, floor, room would be enough. Wings we can put into the name of the floor.'),
('site-floors', '2.2', 47.3, 'amara', 'Four for us: campus, building, floor, room. But I could live with three.'),
('slow-board', '1', 0.4, 'carl', 'Around 8 seconds with 33 technicians, in Firefox.'),
('slow-board', '2', 0.9, 'member', 'I can reproduce it. The board asks for each technician''s week separately, and the browser allows only six requests at a time. We are changing this to a single one.'),
('slow-board', '2.1', 1.2, 'priya', 'That was fast. Happy to test a beta if it helps.'),
('slow-board', '2.1.1', 24.0, 'member', 'It is switched on for your account now. Could you tell us the time you see?'),
('slow-board', '2.1.1.1', 24.3, 'priya', '1.6 seconds for the week, and filters are instant. What a difference.'),
('datev-export', '1', 3.2, 'joerg', 'Bitte auch mit Kostenstellen, wir haben zwei Niederlassungen.'),
('datev-export', '2', 20.6, 'owner', 'Reicht Ihnen ein Buchungsstapel zum Herunterladen, oder erwarten Sie die direkte Übertragung über den Datenservice?'),
('datev-export', '2.1', 21.3, 'stefan', 'Herunterladen reicht völlig. Unsere Steuerberaterin importiert einmal im Monat.'),
('datev-export', '2.2', 22.9, 'matthias', 'Aus Österreich: Bei uns wäre BMD wichtiger, aber mit dem Stapel käme man wohl auch zurecht.'),
('bank-holidays', '1', 8.4, 'kirsty', 'Scotland has different ones from England, so "country" alone would not do.'),
('bank-holidays', '1.1', 56.0, 'member', 'Understood, regions are in. You will be able to set one per site.'),
('bank-holidays', '2', 88.7, 'katrin', 'And a few company days of our own, please: we close between Christmas and New Year.'),
('rotated-photos', '1', 1.3, 'member', 'Thanks for naming the phones. These write the rotation into the photo''s metadata, and our PDF step ignores it.'),
('rotated-photos', '1.1', 2.0, 'dan', 'Makes sense. Is there anything we can do until then?'),
('rotated-photos', '1.1.1', 2.3, 'member', 'Cropping the photo a little in the app bakes in the rotation. Not pretty, but it works.'),
('xero-tracking', '1', 12.8, 'mei', 'We would map by customer, not by job type: each of our regions is a group of customers.'),
('xero-tracking', '1.1', 34.1, 'member', 'Useful to know. Would "by job type, unless the customer says otherwise" work for both of you?'),
('xero-tracking', '1.1.1', 35.5, 'rachel', 'Yes, for us it would.'),
('gps-battery', '1', 1.4, 'sipho', 'Seen on Android as well, a bit less. People switch it off, and then dispatch is blind.'),
('gps-battery', '2', 9.6, 'owner', 'You guessed right: every ten seconds, moving or not. We are testing a version that uses the motion sensor.'),
('gps-battery', '3', 64.9, 'marcus', 'Back from a full day: 58% left at 5 pm on the same old phone. Sorted.'),
('remote-signature', '1', 2.7, 'carmen', 'Nos pasa con comunidades de vecinos: el administrador casi nunca está.'),
('remote-signature', '1.1', 3.5, 'lucia', 'Exacto. Y perseguirlos por correo para que firmen lleva semanas.'),
('remote-signature', '2', 30.4, 'member', '¿Necesitan una firma dibujada o bastaría con que el cliente acepte con su nombre y un código por SMS?'),
('remote-signature', '2.1', 31.2, 'lucia', 'Con nombre y código bastaría, siempre que aparezca en el PDF.'),
('saml', '1', 6.9, 'ruth', 'We are on Okta. Enforcement is the part that matters to us.'),
('saml', '2', 70.5, 'owner', 'We begin with SAML, tested against Entra ID, Okta and Google. SCIM follows.'),
('saml', '2.1', 72.8, 'arjun', 'Good order. Could you document the attributes early, so that our IT can prepare?'),
('saml', '2.1.1', 74.1, 'owner', 'Yes: e-mail, given name, family name and an optional group that maps to a role. The page goes online with the beta.'),
('saml', '2.1.1.1', 162.3, 'arjun', 'Found the page, thank you. Our IT has set up the test tenant already.'),
('part-payments', '1', 10.5, 'pieter', 'In the Netherlands the final invoice must list the earlier payments with their VAT. Please keep that in mind.'),
('part-payments', '1.1', 51.0, 'member', 'We will. Could you send support an example with the names removed?'),
('part-payments', '1.1.1', 53.4, 'pieter', 'Sent, two of them.'),
('pix', '1', 4.1, 'thiago', 'Aqui também. O comprovante chega pelo WhatsApp do técnico e se perde.'),
('pix', '2', 26.0, 'member', 'Com qual banco vocês recebem hoje? Isso ajuda a escolher o primeiro parceiro.'),
('pix', '2.1', 26.7, 'rafael', 'Itaú na matriz e Sicoob na filial.'),
('pix', '2.2', 29.3, 'camila', 'Banco do Brasil. Mas qualquer um que tenha API já resolve.'),
('timesheet-rounding', '1', 31.7, 'heather', 'Please show both values, recorded and rounded. Our people would not trust it otherwise.'),
('lost-signature', '1', 0.2, 'grace', 'Happened to me as well, and with the alarm of the phone''s clock too.'),
('lost-signature', '2', 0.4, 'member', 'Sorry about this one, it goes straight to the top. Is it enough for the call to come in, or does the person have to answer it?'),
('lost-signature', '2.1', 0.6, 'nina', 'Coming in is enough, when the call screen covers the app.'),
('lost-signature', '3', 18.0, 'nina', 'Tested with three calls in a row. The signature stays. Thanks for the quick work.'),
('on-call-rota', '1', 9.8, 'julien', 'Chez nous la rotation change en cours de semaine, le mercredi à midi. Merci de ne pas figer le week-end.'),
('on-call-rota', '1.1', 67.0, 'owner', 'C''est noté : le début et la fin de l''astreinte seront libres.'),
('on-call-rota', '1.1.1', 68.5, 'camille', 'Parfait. Pensez aussi aux échanges entre collègues, c''est très fréquent en été.'),
('webhooks', '1', 8.2, 'owner', 'Agreed, polling is a waste for both sides. Which events would you start with?'),
('webhooks', '1.1', 8.6, 'wei', 'Completed and cancelled. With those two alone we could stop polling.'),
('webhooks', '2', 82.4, 'wei', 'Live since yesterday, and the signature check took ten minutes. A button to send a test event would be nice.'),
('webhooks', '2.1', 83.3, 'owner', 'It is there, behind the three dots next to the endpoint. We will make it easier to find.'),
('furigana', '1', 3.6, 'yuka', '弊社でも同じ問題があります。備考欄にカタカナで書いていますが、検索には使えません。'),
('furigana', '1.1', 31.0, 'member', 'ご意見ありがとうございます。ひらがなとカタカナのどちらで検索しても見つかるようにする予定です。'),
('furigana', '1.1.1', 31.8, 'takumi', 'それは助かります。既存の顧客データはCSVでまとめて登録できますか。'),
('furigana', '1.1.1.1', 32.5, 'member', 'はい、顧客のCSVインポートに「ふりがな」の列を追加します。'),
('multi-day', '1', 5.2, 'ben', 'And the crew changes: two people on the first day, one on the last. So people per day, not per job.'),
('multi-day', '1.1', 6.0, 'joanna', 'True, same with us.'),
('multi-day', '2', 101.1, 'owner', 'We will model it as one job with several visits, each with its own people. The customer gets one confirmation that lists the visits.'),
('one-c', '1', 2.3, 'sergey', 'Поддерживаю. У нас УНФ, выгружать достаточно один раз в день.'),
('one-c', '2', 29.7, 'member', 'Подскажите, пожалуйста: файловый обмен (XML) вам подойдёт или нужен обмен через HTTP-сервис?'),
('one-c', '2.1', 30.4, 'olga', 'Файлового обмена достаточно. Бухгалтерия 3.0, база на собственном сервере.'),
('one-c', '2.2', 33.8, 'dmitry', 'Нам удобнее через HTTP, база в облаке.'),
('sms-eta', '1', 1.1, 'kwame', 'Same question all day long here too.'),
('sms-eta', '2', 3.8, 'ruth', 'Not automatically, please. Some of our customers are care homes, and a text at the wrong time causes panic. A setting per customer.'),
('sms-eta', '2.1', 10.4, 'member', 'A switch per customer, with a default for the company. Would that do?'),
('sms-eta', '2.1.1', 11.0, 'ruth', 'Yes, that would do.'),
('sms-eta', '3', 148.3, 'sipho', 'How will it be charged? Per text, I suppose?'),
('sms-eta', '3.1', 149.0, 'owner', 'Per text at our cost, with a monthly cap you set. E-mail will stay free.'),
('sdi', '1', 14.6, 'lorenzo', 'Per noi è il motivo principale per cui teniamo ancora il vecchio gestionale.'),
('sdi', '1.1', 35.8, 'member', 'Grazie. Vi serve anche la conservazione sostitutiva o la gestisce già il commercialista?'),
('sdi', '1.1.1', 36.7, 'giulia', 'La conservazione la fa il commercialista. A noi bastano l''invio e gli esiti.'),
('csv-accents', '1', 0.9, 'lena', 'My own name is the example, thank you, Noah. As a workaround: Data, From text, choose UTF-8.'),
('csv-accents', '1.1', 1.0, 'noah', 'That works, thanks. Still a nuisance for the colleagues.'),
('break-times', '1', 12.0, 'stefan', 'Rüstzeit wird bei uns bezahlt, aber nicht weiterberechnet. Das sollte je Zeitart einstellbar sein.'),
('break-times', '1.1', 62.5, 'member', 'Danke, genau so überlegen wir es: eigene Zeitarten mit zwei Schaltern, „bezahlt“ und „abrechenbar“.'),
('custom-roles', '1', 4.5, 'kirsty', 'Prices hidden from foremen is the one we need most.'),
('custom-roles', '2', 76.2, 'owner', 'Should a foreman see only the own crew, or everybody and change only the own crew?'),
('custom-roles', '2.1', 77.0, 'ruth', 'See everybody, change the own crew. They borrow people from each other.'),
('custom-roles', '2.1.1', 80.4, 'arjun', 'For us it must be only the own crew, as we have separate companies in one account. So a switch, please.'),
('map-groups', '1', 13.9, 'pieter', 'Lasso yes! Colour by age of the job would help as well.'),
('branching', '1', 7.7, 'kirsty', 'Also "required if". A photo of the meter only when the reading is out of range.'),
('branching', '1.1', 30.6, 'owner', 'Both use the same rules, so "required if" comes along with it.'),
('branching', '2', 121.0, 'luke', 'Will answers to hidden questions be kept when somebody changes the earlier answer back?'),
('branching', '2.1', 121.8, 'member', 'Yes, until the job is completed. Then only the visible answers are stored.'),
('facturae', '1', 6.1, 'lucia', 'Nosotros facturamos a la Generalitat por e.FACT y es el mismo formato. Nos serviría igual.'),
('facturae', '1.1', 42.3, 'member', 'Gracias a los dos. ¿Firman con certificado de representante o con sello de empresa?'),
('facturae', '1.1.1', 43.1, 'javier', 'Con certificado de representante, en un fichero .p12.'),
('font-size', '1', 6.4, 'siobhan', 'I had to borrow my colleague''s reading glasses for the boiler form. Please fix this.'),
('nfse', '1', 8.8, 'eduardo', 'Em Curitiba a prefeitura já está no padrão nacional, podemos participar dos testes.'),
('nfse', '1.1', 36.9, 'member', 'Obrigado pela oferta, Eduardo! Entraremos em contato quando houver uma versão de teste.'),
('double-send', '1', 0.3, 'owner', 'This should never have been possible, I''m sorry. We will help with the credit notes if you send us the numbers.'),
('double-send', '1.1', 0.7, 'omar', 'Thanks, but the bookkeeper has dealt with it. Just make sure it cannot happen again.'),
('reduced-vat', '1', 0.6, 'amelie', 'Même problème avec les attestations à 5,5 %. Le comptable s''en est aperçu avant le client, heureusement.'),
('reduced-vat', '2', 1.2, 'member', 'Merci pour le signalement. Le taux est bien enregistré, seul le modèle PDF affiche la valeur par défaut. La correction est en cours.'),
('reduced-vat', '2.1', 9.3, 'julien', 'Vérifié ce matin sur trois factures, tout est correct.'),
('asset-qr', '1', 15.2, 'rachel', 'Labels must survive ten years in a machine room. Could we use our own printed ones and just link the code?'),
('asset-qr', '1.1', 61.0, 'owner', 'Yes. Any QR code or barcode can be linked to a unit; printing ours is optional.'),
('hanko', '1', 11.4, 'daisuke', '電子署名だけでは受け取ってもらえない取引先がまだあります。ぜひお願いします。'),
('hanko', '1.1', 50.8, 'member', '押印欄の名称(担当、承認など)は、テンプレートごとに自由に決められる形でよろしいでしょうか。'),
('hanko', '1.1.1', 51.9, 'yuka', 'はい、それで問題ありません。'),
('travel-time', '1', 31.5, 'owner', 'Would an estimate without traffic be good enough for a warning?'),
('travel-time', '1.1', 32.2, 'pieter', 'For planning days ahead, yes. On the day itself, no: the A2 at 8 in the morning is another world.'),
('phone-format', '1', 1.9, 'anna', 'У нас ещё встречаются номера без кода вообще, шесть цифр. Их бы тоже учесть.'),
('phone-format', '1.1', 3.5, 'member', 'Учтём: для коротких номеров можно будет задать код города по умолчанию.'),
('gcal-lag', '1', 0.7, 'heather', 'Outlook too? Ours seems fine, so maybe only Google.'),
('gcal-lag', '1.1', 1.6, 'member', 'Only Google. Until it is fixed, "Sync now" on the technician''s page sends all changes of the next 14 days again.'),
('gcal-lag', '1.1.1', 2.2, 'siobhan', 'Good to know. I do it at noon and at four now.'),
('umlaut-search', '1', 5.3, 'member', 'Danke für den Hinweis, das nehmen wir uns vor. Betrifft es auch die Suche nach Aufträgen?'),
('umlaut-search', '1.1', 6.1, 'joerg', 'Ja, dort genauso, weil der Kundenname im Auftrag steht.'),
('quote-approval', '1', 9.6, 'amara', 'With options, please: customers often take the heat pump but not the service plan.'),
('quote-approval', '1.1', 59.5, 'owner', 'Optional lines are in the first version. Alternatives (either this or that) probably in the second.'),
('two-signatures', '1', 31.0, 'member', 'Quante firme servono al massimo sullo stesso rapportino?'),
('two-signatures', '1.1', 31.9, 'marco', 'Tre nei cantieri, due in tutti gli altri casi.'),
('two-signatures', '1.1.1', 34.2, 'chiara', 'Anche da noi mai più di tre.'),
('api-limit', '1', 2.3, 'owner', 'The details are in the note above. If the bulk endpoint does not cover a field you need, tell us and we will add it.'),
('api-limit', '1.1', 3.7, 'wei', 'I had missed that endpoint. Sixteen calls, eleven seconds. Fine with me.'),
('barcode-crash', '1', 0.3, 'member', 'Gracias por los modelos. ¿Puede decirnos qué tipo de código es, EAN o Data Matrix?'),
('barcode-crash', '1.1', 0.5, 'carmen', 'EAN-13 de la etiqueta del fabricante. Con los QR no falla.'),
('barcode-crash', '1.1.1', 1.7, 'javier', 'Con la 4.12.1 ya funciona en nuestros Xiaomi.'),
('whatsapp', '1', 3.0, 'rafael', 'Same in Brazil, WhatsApp is the only channel people answer.'),
('whatsapp', '2', 21.6, 'owner', 'We would need approved templates in every language you use. Would three fixed texts (reminder, moved, on the way) be enough to begin with?'),
('whatsapp', '2.1', 22.4, 'kwame', 'Those three are exactly the ones.'),
('maintenance-contracts', '1', 17.3, 'camille', 'Il faudrait aussi la date de fin et le nombre de visites restantes, visibles par le technicien.'),
('windows-app', '1', 9.4, 'sofie', 'Pity, but the installed version does what I wanted. I did not know that existed.'),
('bulk-reassign', '1', 2.6, 'tom', 'And let me send the affected customers one message with the new time.'),
('bulk-reassign', '1.1', 3.5, 'owner', 'There will be a checkbox for it, off by default.'),
('bulk-reassign', '2', 53.0, 'lena', 'Two people were off on Tuesday. It took me four minutes instead of forty.'),
('inspection-template', '1', 20.9, 'stefan', 'Wir auch, allerdings für ortsfeste Anlagen. Eine wiederholbare Tabelle wäre für beides gut.'),
('require-2fa', '1', 4.8, 'noah', 'Passkeys should count as two-factor then.'),
('require-2fa', '1.1', 5.6, 'owner', 'They will.'),
('qualified-invoice', '1', 1.1, 'member', 'ご報告ありがとうございます。優先して対応します。経過措置(80%控除)の表示も必要でしょうか。'),
('qualified-invoice', '1.1', 1.9, 'kenji', '弊社では不要です。登録番号と税率ごとの合計があれば十分です。'),
('qualified-invoice', '2', 37.0, 'takumi', '新しいテンプレートで発行しました。税理士からも問題ないと言われました。'),
('margin-report', '1', 6.3, 'declan', 'Van costs per kilometre should be in there too, otherwise the far jobs look better than they are.'),
('margin-report', '1.1', 40.9, 'member', 'Would one rate per kilometre for all vans be enough?'),
('yandex-maps', '1', 3.9, 'sergey', 'Проголосовал. В Нижнем Тагиле адреса действительно определяются через раз.'),
('yandex-maps', '1.1', 32.2, 'anna', 'Жаль. Но метка выручает, спасибо, что она теперь не сбивается.'),
('delay-messages', '1', 11.5, 'carmen', 'Sería útil que la hora nueva se calculara sola a partir del trabajo anterior.'),
('subcontractors', '1', 2.0, 'grace', 'We would need that as well, with their own logo on the job sheet.'),
('subcontractors', '1.1', 2.9, 'tom', 'For us it has to be our logo. The customer must not notice.'),
('subcontractors', '2', 18.8, 'owner', 'Would you pay for such a login per job rather than per month? Most partners seem to work a few weeks a year.'),
('subcontractors', '2.1', 19.5, 'tom', 'Per job would be fairer, yes.'),
('street-numbers', '1', 1.2, 'giulia', 'Anche con i numeri rossi di Genova, per esempio 25R.'),
('street-numbers', '1.1', 2.3, 'member', 'Grazie, aggiungiamo anche i numeri rossi alle prove.'),
('double-push', '1', 21.8, 'elif', 'Updated to 4.15 on all phones. Private ones are fine now, but those with a work profile still ring twice.'),
('double-push', '1.1', 24.8, 'member', 'Thank you for checking both. The work profile registers as a second device; we are on it.'),
('french-gaps', '1', 0.9, 'nadia', 'Sur la version web aussi : « Reschedule » dans le menu des interventions.'),
('french-gaps', '1.1', 2.5, 'member', 'Merci, ajouté à la liste. N''hésitez pas à nous signaler les autres.'),
('after-hours', '1', 1.5, 'ruth', 'I would strongly oppose this. Our people use the phones privately too.'),
('e-invoice', '1', 1.8, 'sabine', 'Ab nächstem Jahr verlangt unser größter Kunde das. Wann ist damit zu rechnen?'),
('e-invoice', '1.1', 7.6, 'owner', 'Wir fangen in den nächsten Wochen an. Zum Jahreswechsel soll beides fertig sein.'),
('e-invoice', '1.1.1', 8.4, 'sabine', 'Das würde passen, danke.'),
('e-invoice', '2', 41.2, 'joerg', 'ZUGFeRD im Test: Der Validator meldet nur eine Warnung zur Zahlungsreferenz. Sieht gut aus.'),
('dst-shift', '1', 0.2, 'member', 'We see it: plans made before the change were stored with a fixed offset. A correction is being prepared, please don''t move the visits by hand.'),
('dst-shift', '1.1', 0.4, 'heather', 'I had already done about twenty. What happens to those?'),
('dst-shift', '1.1.1', 0.5, 'owner', 'The correction skips every visit that was changed by hand, so they stay where you put them.'),
('photo-crash', '1', 1.2, 'member', 'ご不便をおかけして申し訳ありません。保存の前に縮小処理をまとめて行っているのが原因のようです。'),
('photo-crash', '1.1', 1.8, 'haruka', '当面は15枚ずつに分けて保存しています。修正をお待ちしています。'),
('fixed-tours', '1', 9.0, 'katrin', 'Das hätten wir auch gern, allerdings mit wechselnden Touren in geraden und ungeraden Wochen.'),
('quickbooks-tax', '1', 3.7, 'member', 'Thanks for the clear steps. Is the discount a percentage or a fixed amount?'),
('quickbooks-tax', '1.1', 4.2, 'marcus', 'Percentage, always. I just tried a fixed amount, and that one goes through.'),
('photo-markup', '1', 4.4, 'fatima', 'Numbers would be handy too, so that the text can refer to 1, 2 and 3.'),
('photo-markup', '2', 12.4, 'owner', 'Should customers see the marked photo, the original, or both?'),
('photo-markup', '2.1', 13.1, 'nina', 'The marked one in the report. The original only in the office, as evidence.'),
('own-act', '1', 7.2, 'olga', 'И обязательно с суммой прописью, без неё акты возвращают.'),
('serial-search', '1', 5.9, 'carl', 'Model number as well. We had a recall by model and year last autumn.'),
('serial-search', '1.1', 20.5, 'member', 'Serial and model numbers will both be searchable; the year comes as a filter.'),
('code-email', '1', 0.3, 'member', 'Obrigado pelo aviso. Enquanto investigamos, o administrador pode gerar um código de acesso em Usuários, Acesso temporário.'),
('code-email', '1.1', 0.5, 'eduardo', 'Funcionou, os três conseguiram entrar.'),
('report-photos', '1', 6.6, 'benoit', 'Oui, surtout pour les photos des codes d''accès, qui n''ont rien à faire chez le client.'),
('low-stock', '1', 2.8, 'lucia', 'Con el mínimo por furgoneta, si llegan a existir los almacenes por vehículo.'),
('ten-photos', '1', 1.4, 'declan', 'Confirmed on two phones here. It used to happen in the background.');

create temporary table seed_follows (key text, handle text);
insert into seed_follows values
('offline-sheets', 'owner'), ('drag-dispatch', 'owner'), ('van-stock', 'owner'), ('saml', 'owner'), ('sms-eta', 'owner'), ('e-invoice', 'owner'), ('branching', 'owner'),
('slow-board', 'member'), ('gcal-lag', 'member'), ('double-push', 'member'), ('photo-crash', 'member'), ('quickbooks-tax', 'member'), ('code-email', 'member'),
('serial-search', 'alice'), ('photo-markup', 'alice'), ('weekly-digest', 'alice'), ('subcontractors', 'bob'), ('quote-expiry', 'bob'), ('ten-photos', 'bob'),
('two-currencies', 'carmen'), ('month-rota', 'yuka'), ('commission', 'juliana'), ('leave-board', 'giulia'), ('own-act', 'dmitry'), ('report-photos', 'camille');

-- The organization, its people and its words

insert into public.organizations (slug, name, visibility, is_default, created_at)
values ('demo', 'Routewell', 'public', true, now() - interval '280 days');

create temporary table seed_organization as select id from public.organizations where slug = 'demo';

update public.profiles p set name = s.name
from seed_people s
where p.email = s.email and p.kind = 'user' and p.name is null;

insert into public.profiles (organization_id, kind, email, name, created_at)
select o.id, 'email', s.email, s.name, now() - interval '275 days' + s.ordinal * interval '2 hours'
from seed_people s, seed_organization o
where s.email not like '%@demo.example'
order by s.ordinal;

insert into public.memberships (organization_id, user_id, role)
select o.id, p.id, v.role
from (values ('owner@demo.example', 'owner'), ('member@demo.example', 'member')) as v (email, role)
join public.profiles p on p.email = v.email and p.kind = 'user', seed_organization o;

insert into public.categories (organization_id, name, slug, color, position, translations)
select o.id, s.name, s.slug, s.color, s.position,
  jsonb_build_object('es', s.es, 'fr', s.fr, 'de', s.de, 'ru', s.ru, 'pt-BR', s.pt_br, 'ja', s.ja, 'it', s.it)
from seed_categories s, seed_organization o
order by s.position;

insert into public.tags (organization_id, name, slug, color, translations)
select o.id, s.name, s.slug, s.color,
  jsonb_build_object('es', s.es, 'fr', s.fr, 'de', s.de, 'ru', s.ru, 'pt-BR', s.pt_br, 'ja', s.ja, 'it', s.it)
from seed_tags s, seed_organization o;

-- What they wrote

create temporary table seed_profiles as
select s.handle, s.language, p.id
from seed_people s, seed_organization o, public.profiles p
where p.email = s.email and (p.kind = 'user' or p.organization_id = o.id);

alter table seed_submissions
  add column id uuid default gen_random_uuid(),
  add column created_at timestamptz;
update seed_submissions set created_at = now() - days * interval '1 day';
alter table seed_comments add column created_at timestamptz;
update seed_comments c set created_at = s.created_at + c.after * interval '1 day' from seed_submissions s where s.key = c.key;
analyze seed_submissions, seed_profiles, seed_comments, seed_status_changes;

insert into public.submissions (id, organization_id, title, description, type, author_id, category_id, source, created_at, updated_at)
select s.id, c.organization_id, s.title, s.description, s.type, p.id, c.id,
  case when s.author in ('alice', 'bob') then null when s.category <> 'mobile-app' then 'web' when s.description like '%iP%' then 'ios-app' else 'android' end,
  s.created_at, s.created_at
from seed_submissions s
join seed_profiles p on p.handle = s.author
join seed_organization o on true
join public.categories c on c.organization_id = o.id and c.slug = s.category
order by s.days desc;

insert into public.submission_tags (organization_id, submission_id, tag_id)
select t.organization_id, s.id, t.id
from seed_submissions s
join seed_organization o on true
join public.tags t on t.organization_id = o.id and t.slug = any (string_to_array(s.tags, ','));

-- Parents first: one statement for each depth
do $$
begin
  for depth in 1..4 loop
    insert into public.comments (id, organization_id, submission_id, parent_id, author_id, body, created_at, updated_at)
    select c.id, o.id, s.id, parent.id, p.id, c.body, c.created_at, c.created_at
    from seed_comments c
    join seed_submissions s on s.key = c.key
    join seed_profiles p on p.handle = c.author
    join seed_organization o on true
    left join seed_comments parent on parent.key = c.key and parent.path = regexp_replace(c.path, '\.?\d+$', '')
    where cardinality(string_to_array(c.path, '.')) = depth
    order by c.created_at;
  end loop;
end
$$;

-- Who commented votes first, then who shares the author's language (if not English), then by hash; most votes come early
insert into public.votes (organization_id, submission_id, user_id, created_at)
select o.id, v.submission_id, v.user_id, now() - v.days * (1 - v.share * v.share) * interval '1 day'
from (
  select s.id as submission_id, p.id as user_id, s.days, s.votes,
    ('x' || left(md5(p.handle || s.key), 6))::bit(24)::int / 16777216.0 as share,
    row_number() over (partition by s.id order by
      exists (select from seed_comments c where c.key = s.key and c.author = p.handle) desc,
      (a.language <> 'en' and p.language = a.language) desc,
      md5(s.key || p.handle)) as place
  from seed_submissions s
  join seed_profiles a on a.handle = s.author
  join seed_profiles p on p.handle not in (s.author, 'owner', 'member')
) v, seed_organization o
where v.place < v.votes
order by 4
on conflict do nothing;

insert into public.comment_votes (organization_id, comment_id, user_id, created_at)
select o.id, c.id, p.id, c.created_at + (now() - c.created_at) * (('x' || left(md5(p.handle || c.key || c.path), 6))::bit(24)::int / 16777216.0)
from seed_comments c
join seed_submissions s on s.key = c.key
join seed_profiles p on p.handle <> c.author
join seed_organization o on true
where ('x' || left(md5(c.key || c.path || p.handle), 4))::bit(16)::int % 400 < s.votes / cardinality(string_to_array(c.path, '.'))
on conflict do nothing;

insert into public.follows (organization_id, submission_id, user_id, reason)
select o.id, s.id, p.id, 'manual'
from seed_follows f
join seed_submissions s on s.key = f.key
join seed_profiles p on p.handle = f.handle
join seed_organization o on true
on conflict do nothing;

-- Step by step, so that the last one stands
do $$
begin
  for turn in 1..4 loop
    insert into public.status_changes (organization_id, submission_id, new_status, note, changed_by, notify, created_at)
    select o.id, s.id, c.status, c.note, p.id, c.note is not null, s.created_at + c.after * interval '1 day'
    from seed_status_changes c
    join seed_submissions s on s.key = c.key
    join seed_profiles p on p.handle = c.changed_by
    join seed_organization o on true
    where c.step = turn
    order by s.created_at + c.after * interval '1 day';
  end loop;
end
$$;

-- Triggers date notifications by the transaction; here each gets the time of what it tells of, and old ones were read
update public.notifications n set
  created_at = e.created_at,
  read_at = case when e.created_at < now() - interval '21 days' then e.created_at + interval '6 hours' end
from (
  select id, created_at from public.votes
  union all select id, created_at from public.comments
  union all select id, created_at from public.status_changes
) e
where e.id = n.event_id and n.organization_id = (select id from seed_organization);

-- Surveys: one that was, one that runs, one to come

-- People who answered and never wrote: each first name with each last name of a language
create temporary table seed_names (language text, first text, last text);
insert into seed_names values
  ('en', 'Holly,Marcus,Zoe,Callum,Imani,Patrick', 'Redfern,Osei,Lockwood,Tran'),
  ('de', 'Anke,Bernd,Heike,Uwe,Jana,Torsten', 'Hoffmann,Krüger,Seidel,Albrecht'),
  ('es', 'Marta,Pablo,Elena,Andrés,Rocío,Sergio', 'Navarro,Cabrera,Molina,Vidal'),
  ('fr', 'Élodie,Thierry,Manon,Olivier,Claire,Hugo', 'Perrin,Lambert,Fabre,Chevalier'),
  ('it', 'Elisa,Davide,Paola,Matteo,Sara,Fabio', 'Greco,Marchetti,Villa,Serra'),
  ('pt', 'Larissa,Bruno,Patrícia,Felipe,Renata,Gustavo', 'Azevedo,Moura,Cardoso,Freitas'),
  ('ru', 'Елена,Игорь,Мария,Павел,Ирина,Андрей', 'Белова,Соколенко,Гончар,Левченко'),
  ('ja', '恵子,翔太,美咲,大介,直美,健太', '高橋,山口,井上,木村');
create temporary table seed_panel as
select row_number() over (order by md5(n.language || f.first || l.last)) as ordinal, n.language,
  case n.language when 'ja' then l.last || ' ' || f.first else f.first || ' ' || l.last end as name, gen_random_uuid() as id
from seed_names n, unnest(string_to_array(n.first, ',')) as f (first), unnest(string_to_array(n.last, ',')) as l (last);
insert into public.profiles (id, organization_id, kind, email, name, created_at)
select s.id, o.id, 'email', 'panel-' || s.ordinal || '@example.com', s.name, now() - interval '270 days'
from seed_panel s, seed_organization o;

-- status: what it comes to; days: age of the survey and of its last response
create temporary table seed_surveys (key text primary key, status text, days numeric, until_days numeric, title text, description text, questions jsonb, id uuid default gen_random_uuid());
insert into seed_surveys values
('first-month', 'archived', 182, 140, 'Your first month with Routewell', 'Four questions for crews who joined this spring.', '[
  {"type": "rating", "text": "How easy was it to get your crew started?", "required": true, "scale": 5},
  {"type": "multiple_choice", "text": "Who set it up?", "options": ["The owner", "The office", "A technician", "Somebody from outside"]},
  {"type": "nps", "text": "Would you recommend Routewell to another company?"},
  {"type": "text", "text": "What would have made it easier?"}]'),
('autumn', 'published', 33, 0.1, 'How is Routewell working for you?', 'Two minutes, five questions. We read every answer.', '[
  {"type": "nps", "text": "How likely are you to recommend Routewell?", "required": true},
  {"type": "rating", "text": "How well does the app work on site?", "scale": 5},
  {"type": "multiple_choice", "text": "What do you use every week?", "multiple": true,
   "options": ["Dispatch board", "Job sheets", "Invoicing", "Reports", "Mobile app", "Customer portal"]},
  {"type": "multiple_choice", "text": "How many people work in your company?", "options": ["1 to 5", "6 to 20", "21 to 100", "More than 100"]},
  {"type": "text", "text": "What should we know?"}]'),
('mobile-beta', 'draft', 3, 0, 'The new mobile app: would you try it early?', 'For crews on Android and iOS.', '[
  {"type": "multiple_choice", "text": "Which phones do your technicians use?", "multiple": true, "options": ["Android", "iPhone", "Tablets"]},
  {"type": "rating", "text": "How well does the present app do its job?", "scale": 10},
  {"type": "text", "text": "What must not change?"},
  {"type": "email", "text": "Where may we send the invitation?"}]');

-- mood: 1 glad, 0 neither, -1 annoyed; score: what functions/_shared/sentiment says of the text in that language
create temporary table seed_texts (locale text, mood integer, score numeric, text text);
insert into seed_texts values
('en', 1, 0.762, 'Dispatch is so much easier now. My mornings are calm again, thank you.'),
  ('en', 1, 0.571, 'The offline job sheets work well, even three floors underground.'),
  ('en', 1, 0.571, 'Support answered in ten minutes and solved it. Great people.'),
  ('en', 1, 0.667, 'Love the map view. Routes that took me an hour to plan take five minutes.'),
  ('en', 1, 0.727, 'Fast, simple and reliable. The whole crew uses it.'),
  ('en', 0, 0, 'We are eleven people and mostly use the calendar.'),
  ('en', 0, 0, 'Please add a way to print the week.'),
  ('en', 0, 0, 'It''s okay. The web app is good, the phone app is slow.'),
  ('en', 0, 0, 'Is there a way to hide finished jobs?'),
  ('en', 0, 0, 'I only see it when I need an invoice.'),
  ('en', -1, -0.762, 'Photos fail to upload every time the signal drops. Very frustrating.'),
  ('en', -1, -0.727, 'Too expensive for seasonal crews, and the price went up again.'),
  ('en', -1, -0.727, 'The app crashed twice this week and I lost my notes.'),
  ('en', -1, -0.727, 'I can''t find anything in the new menu, it is a mess.'),
  ('en', -1, -0.571, 'Search is useless once you have a thousand customers.'),
  ('de', 1, 0.786, 'Die Einsatzplanung ist jetzt viel übersichtlicher, danke!'),
  ('de', 1, 0.762, 'Läuft stabil, meine Monteure sind sehr zufrieden.'),
  ('de', 1, 0.808, 'Schnell, einfach und zuverlässig. Gern weiter so!'),
  ('de', 0, 0, 'Wir nutzen es vor allem für die Arbeitsberichte.'),
  ('de', 0, 0, 'Bitte eine Druckansicht für die Woche einbauen.'),
  ('de', -1, -0.571, 'Die Fotos laden nicht hoch, das nervt jeden Tag.'),
  ('de', -1, -0.762, 'Zu langsam auf älteren Handys und ständig Fehler beim Abgleich.'),
  ('de', -1, -0.651, 'Seit dem Update finde ich nichts mehr, sehr unübersichtlich.'),
  ('es', 1, 0.762, 'Muy fácil de usar, mis técnicos están contentos.'),
  ('es', 1, 0.795, 'El mapa es excelente, ahorramos mucho tiempo.'),
  ('es', 1, 0.727, 'Funciona bien sin conexión, gracias por eso.'),
  ('es', 0, 0, 'Lo usamos sobre todo para las facturas.'),
  ('es', 0, 0, '¿Se puede cambiar el color de los equipos?'),
  ('es', -1, -0.762, 'La aplicación se cierra sola al subir fotos, es muy molesto.'),
  ('es', -1, -0.762, 'Demasiado caro y cada vez más lento.'),
  ('es', -1, -0.571, 'Nadie contesta los correos de soporte.'),
  ('fr', 1, 0.762, 'Très pratique, on gagne un temps fou chaque matin.'),
  ('fr', 1, 0.8, 'Le support est rapide et efficace, merci.'),
  ('fr', 1, 0.769, 'J''adore la nouvelle carte, tout est clair.'),
  ('fr', 0, 0, 'Nous l''utilisons surtout pour les fiches d''intervention.'),
  ('fr', 0, 0, 'Serait-il possible d''imprimer le planning ?'),
  ('fr', -1, -0.571, 'L''application plante dès que le réseau est faible.'),
  ('fr', -1, -0.727, 'Trop cher, et le support ne répond pas.'),
  ('fr', -1, -0.571, 'La recherche est lente et je ne trouve rien.'),
  ('it', 1, 0.819, 'Facile da usare e sempre affidabile, complimenti.'),
  ('it', 1, 0.786, 'La pianificazione è molto più veloce, grazie!'),
  ('it', 1, 0.727, 'I miei tecnici sono soddisfatti, funziona benissimo.'),
  ('it', 0, 0, 'La usiamo per gli interventi di manutenzione.'),
  ('it', 0, 0, 'Si può esportare il calendario?'),
  ('it', -1, -0.464, 'Le foto non si caricano e l''app si blocca.'),
  ('it', -1, -0.571, 'Troppo cara per una piccola ditta.'),
  ('it', -1, -0.769, 'Ho perso tutti i dati di un intervento, pessima esperienza.'),
  ('pt-BR', 1, 0.795, 'Ficou muito fácil montar as rotas, adorei.'),
  ('pt-BR', 1, 0.754, 'Funciona muito bem sem internet, parabéns!'),
  ('pt-BR', 1, 0.824, 'O suporte é excelente, resolveram na hora.'),
  ('pt-BR', 0, 0, 'Usamos mais para as ordens de serviço.'),
  ('pt-BR', 0, 0, 'Teria como imprimir a agenda da semana?'),
  ('pt-BR', -1, -0.727, 'O aplicativo trava quando envio fotos, é irritante.'),
  ('pt-BR', -1, -0.727, 'Muito caro e cada vez mais lento.'),
  ('pt-BR', -1, 0, 'Ninguém responde quando peço ajuda.'),
  ('ru', 1, 0.786, 'Очень удобно планировать выезды, спасибо!'),
  ('ru', 1, 0.8, 'Работает быстро и стабильно, всем нравится.'),
  ('ru', 1, 0.769, 'Отличная поддержка, сразу помогли.'),
  ('ru', 0, 0, 'Используем в основном для нарядов.'),
  ('ru', 0, 0, 'Можно ли выгрузить календарь в таблицу?'),
  ('ru', -1, -0.789, 'Приложение постоянно зависает, очень раздражает.'),
  ('ru', -1, -0.727, 'Слишком дорого, и поддержка не отвечает.'),
  ('ru', -1, -0.769, 'После обновления пропали фотографии, это ужасно.'),
  ('ja', 1, 0.762, '予定が見やすく、とても使いやすいです。'),
  ('ja', 1, 0.769, 'オフラインでも問題なく使えて助かっています。'),
  ('ja', 1, 0.727, 'サポートの対応が丁寧で満足しています。'),
  ('ja', 0, 0, '主に作業報告書を書くのに使っています。'),
  ('ja', 0, 0, '週の予定を印刷できるようにしてほしいです。'),
  ('ja', -1, -0.727, '写真を送るたびにアプリが落ちて困っています。'),
  ('ja', -1, -0.769, '動作が重く、古い端末では使えません。'),
  ('ja', -1, -0.762, '新しいメニューは分かりにくく、とても不便です。');

insert into public.surveys (id, organization_id, title, description, created_at, updated_at)
select s.id, o.id, s.title, s.description, now() - s.days * interval '1 day', now() - s.days * interval '1 day'
from seed_surveys s, seed_organization o;
do $$
declare survey record;
begin
  for survey in select s.*, o.id as organization_id from seed_surveys s, seed_organization o order by s.days desc loop
    perform private.write_questions(survey.organization_id, survey.id, survey.questions);
  end loop;
end
$$;
update public.surveys s set status = 'published' from seed_surveys k where k.id = s.id and k.status <> 'draft';
update public.surveys s set published_at = s.created_at + interval '6 hours' from seed_surveys k where k.id = s.id and k.status <> 'draft';

-- Who answers what follows from hashes; who answers later is a little happier
create temporary table seed_responses as
select s.id as survey_id, p.id as user_id, p.locale, h.a % 10 < 8 as answers, h.b,
  now() - (s.days - 0.5 - (s.days - 0.5 - s.until_days) * w.share) * interval '1 day' as submitted_at,
  case when h.a % 100 < 48 + 20 * w.share then 1 when h.a % 100 < 68 + 14 * w.share then 0 else -1 end as mood
from seed_surveys s
cross join (
  select 'panel-' || ordinal as handle, id, replace(language, 'pt', 'pt-BR') as locale from seed_panel
  union all
  select handle, id, replace(language, 'pt', 'pt-BR') from seed_profiles where handle not in ('owner', 'member', 'alice', 'bob')
) p
cross join lateral (select md5(p.handle || s.key) as digest) d
cross join lateral (select ('x' || left(digest, 6))::bit(24)::int as a, ('x' || substr(digest, 7, 6))::bit(24)::int as b) h
cross join lateral (select ('x' || right(digest, 6))::bit(24)::int / 16777216.0 as share) w
where s.status <> 'draft';
alter table seed_responses add column text text, add column score numeric;
update seed_responses r set text = t.text, score = t.score
from (select *, row_number() over (partition by locale, mood order by text) - 1 as n, count(*) over (partition by locale, mood) as among from seed_texts) t
where t.locale = r.locale and t.mood = r.mood and r.b % 5 < 3 and t.n = r.b % t.among;
analyze seed_responses;

insert into private.survey_starts (organization_id, survey_id, user_id, started_at)
select o.id, r.survey_id, r.user_id, r.submitted_at from seed_responses r, seed_organization o where not r.answers and r.b % 2 = 0;

-- A statement for each text, with what its score is: a response is checked, scored and counted as any other
do $$
declare said record;
begin
  for said in select distinct survey_id, text, score from seed_responses where answers order by 1, 2 loop
    perform set_config('feedback.sentiment', jsonb_build_object('engine', 'lexicon-1', 'scores', array[said.score])::text, true);
    insert into public.survey_responses (organization_id, survey_id, user_id, locale, started_at, submitted_at, answers)
    select o.id, r.survey_id, r.user_id, r.locale, r.submitted_at - make_interval(secs => 35 + r.b % 290), r.submitted_at, a.answers
    from seed_responses r
    cross join seed_organization o
    cross join lateral (
      select jsonb_agg(jsonb_build_object('question_id', q.id, 'value', v.value) order by q.type <> 'text', q.position) as answers
      from public.survey_questions q
      cross join lateral (select (r.b / (7 * q.position)) % 100 as dice) x
      left join lateral (
        select jsonb_agg(o.text order by o.position) filter (where (dice * 7 + o.position * 29) % 100 < 85 - 11 * o.position) as several,
          jsonb_agg(o.text order by o.position) -> (floor(count(*) * dice * dice / 10000.0))::int as one
        from public.survey_options o where o.question_id = q.id
      ) c on q.type = 'multiple_choice'
      cross join lateral (select case q.type
        when 'nps' then to_jsonb(case r.mood when 1 then 8 + least(dice % 4, 2) when 0 then 6 + dice % 3 else dice % 7 end)
        when 'rating' then to_jsonb(case r.mood when 1 then 4 + least(dice % 3, 1) when 0 then 3 + dice % 2 else 1 + dice % 3 end)
        when 'text' then to_jsonb(r.text)
        else case when q.multiple then c.several else c.one end end as value) v
      where q.survey_id = r.survey_id and v.value is not null and (q.required or q.type = 'text' or dice % 10 < 9)
    ) a
    where r.answers and r.survey_id = said.survey_id and r.text is not distinct from said.text
    order by r.submitted_at;
  end loop;
  perform set_config('feedback.sentiment', '', true);
end
$$;
update public.surveys s set status = 'archived' from seed_surveys k where k.id = s.id and k.status = 'archived';
update public.surveys s set closed_at = now() - k.until_days * interval '1 day' from seed_surveys k where k.id = s.id and k.status = 'archived';

drop table seed_people, seed_categories, seed_tags, seed_submissions, seed_status_changes, seed_comments, seed_follows, seed_profiles, seed_organization,
  seed_names, seed_panel, seed_surveys, seed_texts, seed_responses;
